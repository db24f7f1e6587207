import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'

const startTimeoutMs = 40_000

/** A third-party server in a separate process. */
export interface ServingProcess {
  url: string
  close(): Promise<void>
}

/** The command of a server. */
export interface ServingCommand {
  command: string
  args: readonly string[]
  /** Its port on 127.0.0.1. */
  port: number
  environment?: Readonly<Record<string, string>>
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Starts a server and waits until it listens. Rejects with its output when it exits first, or takes more than 40
 * seconds.
 */
export async function startServingProcess({
  command,
  args,
  port,
  environment = {},
}: ServingCommand): Promise<ServingProcess> {
  const child = spawn(command, args, {
    env: { PATH: process.env['PATH'] ?? '', HOME: tmpdir(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-8000)))
  }
  let hasEnded = false
  const ended = once(child, 'close')
  child.once('close', () => {
    hasEnded = true
    running.delete(child)
  })
  const deadline = Date.now() + startTimeoutMs
  while (!(await listens(port))) {
    if (hasEnded || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`${args.join(' ')} does not listen on ${port}:\n${output}`)
    }
    await delay(50)
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function listens(port: number): Promise<boolean> {
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
