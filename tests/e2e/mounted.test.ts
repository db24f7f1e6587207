import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The program of docs/library.md, with the second argument of `fetch` filled in. */
const program = (config: object, peer: string): string => `
  import { serve } from '@hono/node-server'
  import { createDrawbridge } from './server/dist/library.mjs'
  import { Hono } from 'hono'
  const drawbridge = createDrawbridge(${JSON.stringify(config)})
  const app = new Hono()
  app.all('*', (context) => drawbridge.fetch(context.req.raw${peer}))
  serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT) }, () => console.log('listening'))
`
const address = ', { address: context.env.incoming.socket.remoteAddress }'

let child: ChildProcess | undefined
let output = ''
let baseUrl = ''
afterEach(async () => {
  const ending = child
  child = undefined
  if (ending === undefined || ending.exitCode !== null) return
  const ended = new Promise((resolve) => ending.once('close', resolve))
  ending.kill()
  await ended
})

/** Starts the program in its own process, with a limit of three registrations per address. */
async function mount(settings: object, peer: string): Promise<void> {
  const port = await freePort()
  baseUrl = `http://localhost:${port}`
  output = ''
  const config = {
    baseUrl,
    appUrl: `http://localhost:${await freePort()}`,
    store: 'memory:',
    registrationLimit: '3',
    ...settings,
  }
  child = spawn(process.execPath, ['--input-type=module', '-e', program(config, peer)], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', PORT: String(port) },
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  }
  const started = child
  await until(
    () => output.includes('listening') || started.exitCode !== null,
    () => `the mounted server:\n${output}`,
  )
}

/** Counts how many of ten registrations succeed, with that header. */
async function registered(forwardedFor?: string): Promise<number> {
  let count = 0
  for (let time = 0; time < 10; time += 1) {
    const response = await fetch(`${baseUrl}/oauth/register`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
      },
      body: JSON.stringify({
        redirect_uris: ['http://127.0.0.1/cb'],
        token_endpoint_auth_method: 'none',
      }),
    })
    await response.text()
    if (response.status === 201) count += 1
  }
  return count
}

const warnings = (): string[] => output.split('\n').filter((line) => line.includes('"address_unknown"'))

describe('a Drawbridge that another server mounts', () => {
  it('limits each address that it is given, and believes no header', async () => {
    await mount({}, address)
    expect(await registered('203.0.113.9')).toBe(3)
    expect(await registered('198.51.100.8')).toBe(0)
    expect(warnings()).toEqual([])
  })

  it('reads X-Forwarded-For behind a proxy that it is told to trust', async () => {
    await mount({ trustedProxies: '127.0.0.1' }, address)
    expect(await registered('203.0.113.9')).toBe(3)
    expect(await registered('198.51.100.8')).toBe(3)
    expect(await registered('192.0.2.1, 198.51.100.8')).toBe(0)
  })

  it('takes the word of such a proxy also when it is given no address', async () => {
    await mount({ trustedProxies: '10.0.0.0/8' }, '')
    expect(await registered('203.0.113.9')).toBe(3)
    expect(await registered('198.51.100.8')).toBe(3)
    expect(warnings()).toEqual([])
  })

  it.each([
    ['no address', ''],
    ['the environment that servers hand to a fetch function', ', context.env'],
  ])('warns once when it is given %s, and limits nothing per address', async (_what, peer) => {
    await mount({}, peer)
    expect(await registered()).toBe(10)
    await until(() => warnings().length > 0, 'the warning')
    expect(warnings()).toHaveLength(1)
  })
})
