import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type CredentialStore, type LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import type { PendingSignIn, SignInFlow, WantedSignIn } from '../login-port.ts'
import { shareSignIn } from './sign-in-share.ts'

const lockMs = 20_000
/** More than the person has: whoever signs in gives up first, and says why. */
const followSlackMs = 30_000

/** What a sign-in works with. */
interface LoginSignInPorts {
  store: CredentialStore
  flow: SignInFlow
  runtime: Runtime
  note(text: string): void
  /** Told of the new login, whichever process signed in. */
  signedIn(credential: Credential): void
}

/** A sign-in, and when the last of it is over, as after a cancellation. */
type BegunSignIn = PendingSignIn & { finished: Promise<void> }

/**
 * Begins a sign-in that all processes share. `refused`: the sign-in whose tokens are no good, so that any other one is what
 * is wanted; left out, that is the one which is stored now.
 */
export function beginSignIn(
  id: LoginId,
  asked: {
    request: WantedSignIn
    refused: { signInId: string | undefined } | undefined
    timeoutMs: number
    /** The sign-in of this process before. */
    after: Promise<void>
  },
  ports: LoginSignInPorts,
): BegunSignIn {
  const { store, runtime, note } = ports
  let before = asked.refused

  async function isDone(): Promise<boolean> {
    const stored = await readIfPossible(store, id)
    before ??= { signInId: stored.credential?.signInId }
    if (!hasTokens(stored.credential) || stored.credential.signInId === before.signInId) return false
    ports.signedIn(stored.credential)
    return true
  }

  async function save(issued: Credential): Promise<void> {
    const signInId = randomId(runtime)
    const write = async (): Promise<void> => {
      const stored = await readIfPossible(store, id)
      // Of what cannot be read the generation is not known; none has ever counted as far as this.
      const last = stored.isUnreadable ? runtime.now() : (stored.credential?.generation ?? 0)
      const credential = { ...issued, generation: last + 1, signInId }
      await store.write(id, credential)
      ports.signedIn(credential)
    }
    try {
      await store.exclusively(id, { waitMs: lockMs }, write)
    } catch (error) {
      if (!(error instanceof CredentialError && error.fault === 'busy')) throw error
      // A person has signed in for this. Whoever holds the lock finds other tokens, and drops its own.
      await write()
    }
  }

  return shareSignIn({
    id,
    store,
    after: asked.after,
    waitMs: asked.timeoutMs + followSlackMs,
    isDone,
    async signIn(announce, signal) {
      // Nobody is to sign in for a login that cannot be stored.
      await store.prepare()
      const { credential: previous } = await readIfPossible(store, id)
      const request = { ...asked.request, ...(previous === undefined ? {} : { previous }) }
      await save(await ports.flow(request, announce, signal))
    },
    randomId: () => randomId(runtime),
    note,
  })
}

/** The stored login. One that cannot be read is no reason not to sign in: that is how it is replaced. */
export async function readIfPossible(
  store: CredentialStore,
  id: LoginId,
): Promise<{ credential: Credential | undefined; isUnreadable: boolean }> {
  try {
    return { credential: await store.read(id), isUnreadable: false }
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    return { credential: undefined, isUnreadable: true }
  }
}

/** Whether there is something to call with. */
export function hasTokens(
  credential: Credential | undefined,
): credential is Credential & Required<Pick<Credential, 'tokens'>> {
  return credential?.tokens !== undefined && credential.signInNeeded === undefined
}

function randomId(runtime: Runtime): string {
  return encodeBase64url(runtime.randomBytes(16))
}
