import { systemRuntime as runtime } from '../../../../bridge/config/system-runtime.ts'
import {
  CredentialError,
  type CredentialStore,
  type CredentialsConfig,
} from '../../../../bridge/credentials/credential-store.ts'
import type { Credential } from '../../../../bridge/credentials/credential.ts'
import { probeKeychain } from '../../../../bridge/credentials/keychain/keychain.ts'
import { createCredentialStore } from '../../../../bridge/credentials/sealed-store.ts'

// A separate process that operates a credential store on its parent's requests and answers through the channel
// between them. For tests that need another user, another environment, several processes or a kill.

/** A request to a {@link StoreChild}. */
export type StoreRequest =
  | { do: 'open'; config: CredentialsConfig }
  | { do: 'read' | 'remove'; id: string }
  | { do: 'write'; id: string; credential: Credential }
  | { do: 'increment'; id: string; times: number }
  | { do: 'hold'; name: string; waitMs: number }
  | { do: 'release' | 'lease' | 'prepare' | 'clear' | 'backend' | 'list' }
  | { do: 'probe'; config: CredentialsConfig }

/** Its answer: a value, or the fault. */
export interface StoreAnswer {
  value?: unknown
  fault?: string
  message?: string
  announced: string[]
}

const announced: string[] = []
let store: CredentialStore | undefined
let held: string | undefined
let release: () => void = () => undefined

function opened(): CredentialStore {
  if (store === undefined) throw new Error('open a store first')
  return store
}

async function hold(name: string, waitMs: number): Promise<boolean> {
  return await new Promise<boolean>((resolve, reject) => {
    const until = new Promise<void>((done) => {
      release = done
    })
    opened()
      .exclusively(name, { waitMs }, async (lease) => {
        held = lease
        resolve(true)
        await until
      })
      .catch(reject)
  })
}

async function increment(id: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await opened().exclusively(id, { waitMs: 60_000 }, async () => {
      const before = await opened().read(id)
      if (before === undefined) throw new Error('nothing stored')
      await opened().write(id, { ...before, generation: before.generation + 1 })
    })
  }
}

async function perform(request: StoreRequest): Promise<unknown> {
  switch (request.do) {
    case 'open':
      store = createCredentialStore(request.config, { runtime, announce: (line) => announced.push(line) })
      return undefined
    case 'probe': {
      const outcome = await probeKeychain(request.config)
      if (outcome !== 'works') throw outcome
      return outcome
    }
    case 'read':
      return await opened().read(request.id)
    case 'remove':
      return await opened().remove(request.id)
    case 'write':
      return await opened().write(request.id, request.credential)
    case 'increment':
      return await increment(request.id, request.times)
    case 'hold':
      return await hold(request.name, request.waitMs)
    case 'lease':
      return held
    case 'release':
      return release()
    default:
      return await opened()[request.do]()
  }
}

process.on('message', (request: StoreRequest) => {
  void (async () => {
    let answer: StoreAnswer
    try {
      answer = { value: await perform(request), announced }
    } catch (error) {
      const fault = error instanceof CredentialError ? error.fault : 'unexpected'
      answer = { fault, message: String(error), announced }
    }
    process.send?.(answer)
  })()
})
process.on('disconnect', () => process.exit(0))
