import { fork, type ForkOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../../compile-cache.ts'
import type { StoreAnswer, StoreRequest } from './store-child.ts'

/** A child process with a credential store. One request at a time. */
export interface StoreChild {
  ask(request: StoreRequest): Promise<StoreAnswer>
  /** Sends `kill -9`, or another signal. */
  kill(signal?: NodeJS.Signals): void
  /** Lets it exit on its own; resolves when it has. */
  stop(): Promise<void>
  /** Resolves when it has exited, for any reason. */
  gone: Promise<void>
}

/** Starts a child, as another user or with another environment if `options` say so. */
export function startStoreChild(options: ForkOptions = {}): StoreChild {
  const script = fileURLToPath(new URL('./store-child.ts', import.meta.url))
  const child = fork(script, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    ...options,
    env: { ...(options.env ?? process.env), ...compileCache },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null): void => reject(new Error(`the child ended (${String(code)})`))
        child.once('exit', onExit)
        child.once('message', (answer: StoreAnswer) => {
          child.off('exit', onExit)
          resolve(answer)
        })
        child.send(request)
      }),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    async stop() {
      if (child.connected) child.disconnect()
      await ended
    },
    gone: ended,
  }
}
