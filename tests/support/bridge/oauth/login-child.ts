import { createCredentialStore } from '../../../../bridge/credentials/sealed-store.ts'
import { systemRuntime } from '../../../../bridge/config/system-runtime.ts'
import { StoredLogin } from '../../../../bridge/oauth/login/login.ts'
import type { Login } from '../../../../bridge/oauth/login-port.ts'
import { call, loginConfig, loginPorts } from './login-parts.ts'

// A separate process with a login, driven by its parent through the channel between them. For races between
// processes, and for the state left by a kill.

/** A step of a renewal at which the process can be paused, to be killed there. */
export type HoldPoint = 'before pending' | 'pending stored' | 'answer received' | 'successor stored'

/** A request to the child. */
export type LoginChildRequest =
  | { do: 'open'; home: string; url: string; holdAt?: HoldPoint; personMs?: number }
  | { do: 'call'; times: number }
  | { do: 'signIn' }
  | { do: 'authorization' }

/** Its messages: `held` is sent on its own, the others as answers. */
export type LoginChildMessage =
  | { kind: 'held' }
  | { kind: 'prompt'; url: string; followed: boolean }
  | { kind: 'answer'; value: unknown }

let login: Login
let url = ''

function say(message: LoginChildMessage): void {
  process.send?.(message)
}

function open(request: LoginChildRequest & { do: 'open' }): void {
  url = request.url
  const hold = async (point: HoldPoint): Promise<void> => {
    if (request.holdAt !== point) return
    say({ kind: 'held' })
    await new Promise(() => undefined)
  }
  const config = { home: request.home, backend: 'file' as const, keychainTimeoutMs: 2500 }
  const store = createCredentialStore(config, { runtime: systemRuntime, announce: () => undefined })
  const personMs = request.personMs ?? 0
  const ports = loginPorts({
    url,
    person: () => new Promise((resolve) => setTimeout(resolve, personMs)),
    store: {
      ...store,
      async write(id, credential) {
        const isPending = credential.pendingRefresh !== undefined
        if (isPending) await hold('before pending')
        await store.write(id, credential)
        await hold(isPending ? 'pending stored' : 'successor stored')
      },
    },
  })
  login = new StoredLogin(loginConfig(url), {
    ...ports,
    async refresh(credential, signal) {
      const answer = await ports.refresh(credential, signal)
      await hold('answer received')
      return answer
    },
  })
}

async function perform(request: LoginChildRequest): Promise<unknown> {
  switch (request.do) {
    case 'open':
      return open(request)
    case 'call':
      return await Promise.all(Array.from({ length: request.times }, () => call(url, login)))
    case 'authorization':
      return (await login.authorization())?.header
    case 'signIn': {
      const pending = login.signIn()
      pending.onPrompt?.(({ url, followed }) => say({ kind: 'prompt', url, followed: followed ?? false }))
      await pending.done
      return (await login.authorization())?.header
    }
  }
}

process.on('message', (request: LoginChildRequest) => {
  perform(request).then(
    (value) => say({ kind: 'answer', value }),
    (error: unknown) => say({ kind: 'answer', value: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
