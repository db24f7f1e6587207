import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import type { Credential } from '../../credentials/credential.ts'
import { CredentialError, loginId } from '../../credentials/credential-store.ts'
import { loginView } from '../../oauth/tokens/stored-tokens.ts'
import { exitCode } from '../failure/failure-table.ts'
import { failureContextOf, fill } from '../failure/failure-text.ts'
import { durationText } from '../terminal/progress.ts'
import { failed } from './finding.ts'

/** The stored login, or why it cannot be read, and the keychain if that is used. */
export type StoreFacts = Awaited<ReturnType<typeof readStore>> & {
  /** The authorization server that the server names now. */
  issuer?: string | undefined
  /** Undefined: the server did not answer. */
  isWanted?: boolean
}

/** Reads the login. Writes, reads and removes a test item in the keychain. */
export async function readStore(config: BridgeConfig, runtime: Runtime) {
  const { credentials } = config
  const id = loginId(config.oauth)
  const [{ probeKeychain }, { createCredentialStore }] = await Promise.all([
    import('../../credentials/keychain/keychain.ts'),
    import('../../credentials/sealed-store.ts'),
  ])
  const usesKeychain =
    credentials.backend === 'keychain' || (credentials.backend === undefined && credentials.key === undefined)
  const keychain = usesKeychain ? await probeKeychain(credentials) : undefined
  const facts = { config, keychain, now: runtime.now() }
  try {
    const store = createCredentialStore(credentials, { runtime, announce: () => {} })
    return { ...facts, credential: await store.read(id), error: undefined }
  } catch (error) {
    return { ...facts, credential: undefined, error }
  }
}

export const storeChecks: Checks<StoreFacts> = {
  keychain({ config, keychain }) {
    const { backend } = config.credentials
    if (backend === 'memory') return ok('Not used: nothing is stored.')
    if (keychain === undefined) {
      return warn(
        config.credentials.key !== undefined
          ? 'Not used: the key of the logins is in DRAWBRIDGE_KEY, readable by anyone who sees the environment.'
          : 'Not used: the key of the logins is in a file, readable by anyone who can read your files.',
      )
    }
    if (!(keychain instanceof CredentialError)) return ok('The keychain stores, returns and deletes an item.')
    const outcome = failed(keychain, failureContextOf(config))
    if (backend === 'keychain') return outcome
    const [remedy = ''] = outcome.fix?.split(';') ?? []
    return warn(
      `${outcome.message} The key of new logins goes into a file.`,
      `If that is fine, set --store file. Otherwise: ${remedy}.`,
    )
  },
  login(facts) {
    const { config, credential, error, isWanted } = facts
    const context = failureContextOf(config)
    if (error !== undefined) return failed(error, context)
    if (credential !== undefined) return storedLogin(credential, facts)
    if (isWanted === undefined) return undefined
    return isWanted
      ? fail('No login is stored for this server.', fill(signIn, context), exitCode.signInNeeded)
      : ok('No login is stored; a tool that needs one will ask for it.')
  },
}

const signIn = 'drawbridge login {url}'

function storedLogin(credential: Credential, { config, issuer, isWanted, now }: StoreFacts): Outcome {
  const fix = fill(signIn, failureContextOf(config))
  const view = loginView(credential, now)
  if (view.reason !== null) {
    const text = `A sign-in is needed: ${view.reason}.`
    return isWanted === undefined ? warn(text, fix) : fail(text, fix, exitCode.signInNeeded)
  }
  if (issuer !== undefined && !isSameIssuer(view.issuer, issuer)) {
    const text = `The login is from ${view.issuer}, but the server now signs in at ${issuer}.`
    return warn(text, `${fix} --force`)
  }
  const left = view.expires_at === null ? undefined : view.expires_at - now
  if (left === undefined) return ok(`Signed in at ${view.issuer}.`)
  return ok(
    left > 0
      ? `Signed in at ${view.issuer}; the token expires in ${durationText(left)}.`
      : `Signed in at ${view.issuer}; the token has expired, and is renewed at its next use.`,
  )
}
