import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoginChildMessage, LoginChildRequest } from './login-child.ts'

/** A child process with a login. One request at a time. */
export interface LoginChild {
  ask(request: LoginChildRequest): Promise<unknown>
  /** Sends a request without waiting for its answer; resolves when the child pauses at the requested step. */
  untilHeld(request: LoginChildRequest): Promise<void>
  prompts: { url: string; followed: boolean }[]
  untilPrompt(): Promise<void>
  kill(): void
}

export function startLoginChild(): LoginChild {
  const script = fileURLToPath(new URL('./login-child.ts', import.meta.url))
  const child = fork(script, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const prompts: LoginChild['prompts'] = []
  child.on('message', (message: LoginChildMessage) => {
    if (message.kind === 'prompt') prompts.push({ url: message.url, followed: message.followed })
  })
  const next = (kind: LoginChildMessage['kind']): Promise<LoginChildMessage> =>
    new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error('the child ended')))
      child.on('message', (message: LoginChildMessage) => {
        if (message.kind === kind) resolve(message)
      })
    })
  return {
    prompts,
    async ask(request) {
      const answer = next('answer')
      child.send(request)
      const message = await answer
      return message.kind === 'answer' ? message.value : undefined
    },
    async untilHeld(request) {
      const held = next('held')
      child.send(request)
      await held
    },
    async untilPrompt() {
      if (prompts.length === 0) await next('prompt')
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
