import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Credential } from '../../credentials/credential.ts'
import { CredentialError, type CredentialsConfig } from '../../credentials/credential-store.ts'
import { durationText } from '../terminal/duration-text.ts'
import { exitCode } from '../failure/command-failure.ts'
import { type FailureContext, fill } from '../failure/failure-text.ts'
import { loginView } from '../connect/login-view.ts'
import { type Finding, fail, failureFinding, ok, warn } from './finding.ts'

/** Where the key of the logins is or would be. Writes, reads and removes an item of no meaning. */
export async function checkKeychain(config: CredentialsConfig, context: FailureContext): Promise<Finding> {
  if (config.backend === 'memory') return ok('keychain', 'Not used: nothing is stored.')
  if (config.backend !== 'keychain' && config.key !== undefined) {
    return warn(
      'keychain',
      'Not used: the key of the logins is in DRAWBRIDGE_KEY, and whoever sees the environment has it.',
    )
  }
  if (config.backend === 'file' || config.keyFile !== undefined) {
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

/** The stored login: whether it is good, and of the authorization server that signs people in now. */
export function checkLogin(
  credential: Credential | undefined,
  context: FailureContext,
  issuer: string | undefined,
  now: number,
): Finding {
  const fix = fill('drawbridge login {url}', context)
  if (credential === undefined) {
    return fail('login', 'No login is stored for this server.', fix, exitCode.signInNeeded)
  }
  const view = loginView(credential, now)
  if (view.reason !== null) {
    return fail('login', `A sign-in is needed: ${view.reason}.`, fix, exitCode.signInNeeded)
  }
  if (issuer !== undefined && view.issuer !== issuer) {
    const text = `The login is of ${view.issuer}, but the server signs in at ${issuer} now.`
    return warn('login', text, `${fix} --force`)
  }
  const left = view.expires_at === null ? undefined : view.expires_at - now
  if (left === undefined) return ok('login', `Signed in at ${view.issuer}.`)
  if (left > 0) return ok('login', `Signed in at ${view.issuer}; the token ends in ${durationText(left)}.`)
  return ok('login', `Signed in at ${view.issuer}; the token has ended, and is renewed at its next use.`)
}

const staleSeconds = 10

/** Whoever renews or signs in holds a lock for some seconds. */
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
  if (age === undefined) return ok('lock', 'Nobody holds the login.')
  if (age < staleSeconds) return warn('lock', 'Another process renews the login, or signs in, right now.')
  return warn(
    'lock',
    `A process that was killed holds the login since ${durationText(age)}; the next one takes it over.`,
  )
}
