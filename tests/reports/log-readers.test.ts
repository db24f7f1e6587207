import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { childEnvironment, launcher, type ServerSettings } from '../e2e/server-process.ts'
import { freePort } from '../support/server/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

interface Started {
  child: ChildProcess
  baseUrl: string
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Starts a built server whose stdout and stderr nothing reads. */
async function start(settings: ServerSettings, more: { throughTee?: boolean } = {}): Promise<Started> {
  const folder = temporaryFolder()
  const [port, appPort] = [await freePort(), await freePort()]
  const baseUrl = `http://localhost:${port}`
  const env = childEnvironment(folder, {
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${port}`,
    APP_URL: `http://localhost:${appPort}`,
    LOG: 'debug',
    ...settings,
  })
  const argv = more.throughTee
    ? ['sh', '-c', `"${process.execPath}" "${launcher}" 2>&1 | tee log >/dev/null`]
    : [process.execPath, launcher]
  const child = spawn(argv[0] ?? '', argv.slice(1), { cwd: folder, env, detached: true })
  const ended: Started['ended'] = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  await until(
    () =>
      fetch(`${baseUrl}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the server',
  )
  return { child, baseUrl, ended }
}

/** Makes the server write more than a pipe holds, to its log and to its audit file. */
async function writeMuch({ baseUrl }: Started): Promise<void> {
  const refused = { method: 'POST', body: new URLSearchParams({ grant_type: 'x'.repeat(60) }) }
  for (let sent = 0; sent < 480; sent += 20)
    await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`${baseUrl}/oauth/token`, refused)).text()),
    )
}

const readers: readonly [what: string, leave: (started: Started) => Promise<void> | void][] = [
  [
    'has gone before',
    async (started) => {
      started.child.stdout?.destroy()
      started.child.stderr?.destroy()
      await writeMuch(started)
    },
  ],
  [
    'goes at the same moment',
    ({ child }) => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
  ],
  ['stays and reads nothing', writeMuch],
]

it.each(
  readers.flatMap(([what, leave]) =>
    (['SIGINT', 'SIGTERM'] as const).map((signal) => [signal, what, leave] as const),
  ),
)('the server ends on %s when the reader of its log %s', async (signal, _, leave) => {
  const started = await start({})
  await leave(started)
  started.child.kill(signal)
  expect(await started.ended).toEqual({ code: 0, signal: null })
})

it('a server whose log goes through tee ends on the Ctrl-C that ends tee too', async () => {
  const { child, ended } = await start({}, { throughTee: true })
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await ended
})

it('the server ends on a second signal when the reader of its log is gone', async () => {
  const started = await start({})
  started.child.stderr?.destroy()
  const { host, port } = new URL(started.baseUrl)
  const socket = createConnection({ host: '127.0.0.1', port: Number(port) })
  onTestFinished(() => void socket.destroy())
  const head = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue`
  socket.write(`POST /oauth/register HTTP/1.1\r\n${head}\r\n\r\n`)
  // The server waits for the body.
  await once(socket, 'data')
  started.child.kill('SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 700))
  started.child.kill('SIGINT')
  expect(await started.ended).toEqual({ code: 130, signal: null })
})

it.each([
  ['has gone', true],
  ['reads nothing', false],
])('the server ends when the reader of its audit file, a pipe with a name, %s', async (_, isGone) => {
  const pipe = join(temporaryFolder(), 'audit')
  execFileSync('mkfifo', [pipe])
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const started = await start({ AUDIT: pipe })
  started.child.stdout?.resume()
  started.child.stderr?.resume()
  if (isGone) closeSync(reader)
  await writeMuch(started)
  started.child.kill('SIGTERM')
  expect(await started.ended).toEqual({ code: 0, signal: null })
  if (!isGone) closeSync(reader)
})

it('a server whose audit file is a pipe with a name that nothing reads says so instead of waiting', async () => {
  const folder = temporaryFolder()
  const pipe = join(folder, 'audit')
  execFileSync('mkfifo', [pipe])
  const env = childEnvironment(folder, { AUDIT: pipe, LISTEN: `127.0.0.1:${await freePort()}` })
  const child = spawn(process.execPath, [launcher], { cwd: folder, env })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const code = await new Promise((resolve) => child.once('exit', resolve))
  expect([code, said]).toEqual([1, expect.stringContaining(pipe)])
})
