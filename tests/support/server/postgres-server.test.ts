import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'

// Prints the address of its server, and then does nothing.
const owner = `
  import { startPostgres } from ${JSON.stringify(new URL('./postgres-server.ts', import.meta.url).href)}
  const server = await startPostgres()
  const [{ folder }] = await server.query(server.url('postgres'), "SELECT current_setting('data_directory') AS folder")
  console.log(JSON.stringify({ folder, port: Number(new URL(server.url('x')).port) }))
  setInterval(() => {}, 1000)`

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

it(
  'the server and its folder go with the process that started it, however that ends',
  { timeout: 120_000 },
  async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', owner], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [said] = (await once(child.stdout, 'data')) as [Buffer]
    const { folder, port } = JSON.parse(String(said)) as { folder: string; port: number }
    expect(await accepts(port)).toBe(true)
    child.kill('SIGKILL')
    await expect.poll(() => accepts(port), { timeout: 30_000 }).toBe(false)
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false)
  },
)
