import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Credential } from '../../credentials/credential.ts'
import { CredentialError, type CredentialsConfig } from '../../credentials/credential-store.ts'
import { durationText } from '../terminal/progress.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type FailureContext, fill } from '../failure/failure-text.ts'
import { loginView } from '../connect/login-view.ts'
import { type Finding, fail, failureFinding, ok, warn } from './finding.ts'

/** Checks where the key of the logins is or would be. Writes, reads and removes a test item in the keychain. */
export async function checkKeychain(config: CredentialsConfig, context: FailureContext): Promise<Finding> {
  if (config.backend === 'memory') return ok('keychain', 'Not used: nothing is stored.')
  if (config.backend !== 'keychain' && config.key !== undefined) {
    return warn(
      'keychain',
      'Not used: the key of the logins is in DRAWBRIDGE_KEY, and whoever sees the environment has it.',
    )
  }
  if (config.backend === 'file') {
    return warn(
      'keychain',
      'Not used: the key of the logins is in a file, and whoever reads your files has it.',
    )
  }
  const { probeKeychain } = await import('../../credentials/keychain/keychain.ts')
  const probe = await probeKeychain(config)
  if (probe.kind === 'works') return ok('keychain', 'The keychain takes, gives and forgets an item.')
  const failure = failureFinding('keychain', new CredentialError(probe.kind, probe.detail), context)
  if (config.backend === 'keychain') return failure
  return warn(
    'keychain',
    `${failure.message} The key of new logins goes into a file.`,
    'If that is fine, set --store file; else start a Secret Service such as gnome-keyring.',
  )
}

/** Checks the stored login, and that it is from the authorization server that the server names now. */
export function checkLogin(
  credential: Credential | undefined,
  { context, issuer, isWanted }: { context: FailureContext; issuer: string | undefined; isWanted: boolean },
  now: number,
): Finding {
  const fix = fill('drawbridge login {url}', context)
  if (credential === undefined && !isWanted) {
    return ok('login', 'No login is stored; a tool that needs one will ask for it.')
  }
  if (credential === undefined) {
    return fail('login', 'No login is stored for this server.', fix, exitCode.signInNeeded)
  }
  const view = loginView(credential, now)
  if (view.reason !== null) {
    return fail('login', `A sign-in is needed: ${view.reason}.`, fix, exitCode.signInNeeded)
  }
  if (issuer !== undefined && view.issuer !== issuer) {
    const text = `The login is from ${view.issuer}, but the server now signs in at ${issuer}.`
    return warn('login', text, `${fix} --force`)
  }
  const left = view.expires_at === null ? undefined : view.expires_at - now
  if (left === undefined) return ok('login', `Signed in at ${view.issuer}.`)
  if (left > 0) return ok('login', `Signed in at ${view.issuer}; the token ends in ${durationText(left)}.`)
  return ok('login', `Signed in at ${view.issuer}; the token has ended, and is renewed at its next use.`)
}

const staleSeconds = 10

/** Checks the locks: renewing and signing in hold one for some seconds. */
export function checkLock({ home }: CredentialsConfig, id: string): Finding {
  const ages = [id, `signin-${id}`].flatMap((name) => {
    try {
      const { mtimeMs } = statSync(join(home, 'credentials', 'locks', `${name}.lock`))
      return [Math.max(0, Math.round((Date.now() - mtimeMs) / 1000))]
    } catch {
      return []
    }
  })
  const [age] = ages
  if (age === undefined) return ok('lock', 'No process holds the login.')
  if (age < staleSeconds) return warn('lock', 'Another process renews the login, or signs in, right now.')
  return warn(
    'lock',
    `A process that was killed has held the login for ${durationText(age)}; the next one takes it over.`,
  )
}
