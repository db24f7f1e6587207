import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freePort } from './free-port.ts'

const takeFifteen = `
  const [module, from] = process.argv.slice(1)
  const { freePort } = await import(module)
  const ports = []
  while (ports.length < 15) ports.push(await freePort({ from: Number(from), to: Number(from) + 60 }))
  console.log(JSON.stringify(ports))`

it('is never the port of another process, nor given twice', async () => {
  const from = randomInt(15_000, 31_000)
  const own: number[] = []
  while (own.length < 15) own.push(await freePort({ from, to: from + 60 }))
  const module = new URL('./free-port.ts', import.meta.url).href
  const argv = ['--input-type=module', '-e', takeFifteen, module, String(from)]
  const { stdout } = await promisify(execFile)(process.execPath, argv, { timeout: 20_000 })
  const all = [...own, ...(JSON.parse(stdout) as number[])]
  expect(new Set(all).size).toBe(30)
})

it('is refused when all are taken', async () => {
  const port = await freePort()
  await expect(freePort({ from: port, to: port + 1 })).rejects.toThrow('No free port')
})
