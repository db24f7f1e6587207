import {
  CredentialError,
  type KeyPlaceName,
  type StoredLogin,
  loginId,
} from '../../credentials/credential-store.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import type { ReadSettings } from '../../config/config-reader.ts'
import { serverUrlProblem } from '../../config/config-rule.ts'
import { durationText } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/output.ts'
import { type CommandInput, credentialsOf, printResult, settingsOf } from '../command.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { describeError, fill } from '../failure/failure-text.ts'
import { type LoginView, loginView } from '../../oauth/tokens/stored-tokens.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Prints the stored logins of all servers, or of one. Makes no request, so a revoked login still looks
 * valid. Returns 3 if one needs a sign-in or none is stored, and 1 if one is unreadable for another reason.
 */
export async function status(input: CommandInput): Promise<ExitCode> {
  const { terminal, runtime } = input
  const read = settingsOf(input)
  const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
  const config = credentialsOf(read)
  const store = createCredentialStore(config, { runtime, announce: () => {} })
  const now = runtime.now()
  const stored = await store.list()
  const logins = readableOf(stored, read, now)
  const unreadable = unreadableOf(stored, read)
  if (logins.length + unreadable.length === 0) refuseNoUrl(read)
  const backend = await store.backend().catch((error: unknown) => {
    if (error instanceof CredentialError) return 'unknown' as const
    throw error
  })
  const code = codeOf(logins, unreadable)
  const facts = {
    ok: code === exitCode.ok,
    home: config.home,
    key: backend === 'unknown' ? null : (backend ?? null),
    logins: logins.map((login) => ({ ...login, next_step: nextStep(login) ?? null })),
    unreadable: unreadable.map(({ exit: _exit, ...login }) => login),
  }
  printResult(input, facts, () => {
    for (const login of logins) terminal.print(loginText(login, now, terminal))
    for (const login of unreadable) terminal.print(unreadableText(login, terminal))
    if (logins.length + unreadable.length > 0) return terminal.print(keyText(backend, config.home))
    const { serverUrl } = read
    terminal.print(`No login is stored${serverUrl === undefined ? '' : ` for ${serverUrl}`}.`)
    terminal.note(fill('drawbridge login {url}', { serverUrl }))
  })
  return code
}

function readableOf(stored: readonly StoredLogin[], { serverUrl }: ReadSettings, now: number): LoginView[] {
  const asked = serverUrl === undefined ? undefined : comparable(serverUrl)
  return stored
    .flatMap((login) => {
      if (login.kind === 'unreadable') return []
      const { credential } = login
      const isAsked = asked === undefined || asked === comparable(credential.serverUrl)
      return isAsked ? [loginView(credential, now)] : []
    })
    .sort((a, b) => `${a.server} ${a.profile}`.localeCompare(`${b.server} ${b.profile}`))
}

/** Compares with the login that these settings select. */
function unreadableOf(stored: readonly StoredLogin[], read: ReadSettings): UnreadableLogin[] {
  const { serverUrl } = read
  const asked = serverUrl === undefined ? undefined : idOf(serverUrl, read)
  return stored.flatMap((login) =>
    login.kind === 'unreadable' && (asked === undefined || login.id === asked)
      ? [describeUnreadable(login, serverUrl)]
      : [],
  )
}

type UnreadableLogin = ReturnType<typeof describeUnreadable>

/** Describes an unreadable login. `serverUrl`: its server, if known: only its content names it. */
function describeUnreadable(
  { id, file, failure }: Extract<StoredLogin, { kind: 'unreadable' }>,
  serverUrl: string | undefined,
) {
  const { code, sentences, nextStep, exit } = describeError(failure, { serverUrl })
  const isNameless = failure.fault === 'corrupt' && serverUrl === undefined
  const next_step = isNameless ? 'Delete that file, and sign in again at its server.' : nextStep
  return { id, file, code, reason: sentences.join(' '), next_step, exit }
}

/** Accepts any URL, as a login may be stored for one that needs another flag today. */
function refuseNoUrl({ serverUrl }: ReadSettings): void {
  const problem = serverUrl === undefined ? undefined : serverUrlProblem(serverUrl, true)
  if (problem !== undefined) throw new ConfigError([problem])
}

function codeOf(logins: readonly LoginView[], unreadable: readonly UnreadableLogin[]): ExitCode {
  if (unreadable.some(({ exit }) => exit === exitCode.failed)) return exitCode.failed
  const isGood = logins.length > 0 && logins.every(({ state }) => state === 'signed_in')
  return isGood && unreadable.length === 0 ? exitCode.ok : exitCode.signInNeeded
}

/** Two ways to write one address are the same server, as for the store. */
function comparable(serverUrl: string): string {
  if (!isUrl(serverUrl)) return serverUrl
  return loginId({ serverUrl, profile: '' })
}

function idOf(serverUrl: string, { values }: ReadSettings): string {
  return isUrl(serverUrl) ? loginId({ serverUrl, ...values }) : serverUrl
}

function loginText(login: LoginView, now: number, { colour }: Pick<Terminal, 'colour'>): string {
  const isGood = login.state === 'signed_in'
  const mark = isGood ? colour('green', 'signed in') : colour('red', 'sign-in needed')
  const profile = login.profile === 'default' ? '' : ` (profile ${login.profile})`
  const lines = [
    `${login.server}${profile}`,
    `  ${mark}, since ${new Date(login.signed_in_at * 1000).toISOString().slice(0, 16).replace('T', ' ')}`,
    `  account  ${login.account ?? 'unknown'}`,
    `  issuer   ${login.issuer}`,
    `  client   ${login.client_id}`,
    `  scope    ${login.scope ?? 'unknown'}`,
    `  token    ${tokenText(login, now)}`,
    ...(login.reason === null ? [] : [`  reason   ${login.reason}`]),
    ...(isGood ? [] : [`  -> ${String(nextStep(login))}`]),
  ]
  return `${lines.join('\n')}\n`
}

function unreadableText(login: UnreadableLogin, { colour }: Pick<Terminal, 'colour'>): string {
  const mark = colour('red', 'cannot be read')
  return `${login.file}\n  ${mark}\n  reason   ${login.reason}\n  -> ${login.next_step}\n`
}

function tokenText({ expires_at: expiresAt, renews }: LoginView, now: number): string {
  const renewal = renews ? 'renewed without you' : 'not renewed'
  if (expiresAt === null) return `expiry unknown, ${renewal}`
  const left = expiresAt - now
  return `${left > 0 ? `expires in ${durationText(left)}` : `expired ${durationText(-left)} ago`}, ${renewal}`
}

/** `unknown`: the key is damaged, which the logins report already. */
function keyText(backend: KeyPlaceName | 'memory' | 'unknown' | undefined, home: string): string {
  if (backend === 'memory') return 'Logins are in memory only, and end with each process.'
  const places = {
    keychain: 'their key is in the keychain',
    file: 'their key is in a file there: anyone who can read your files can read both',
    environment: 'their key is in DRAWBRIDGE_KEY, readable by anyone who sees the environment',
    unknown: 'the place of their key is unknown',
  }
  return `Logins are encrypted in ${home}; ${backend === undefined ? 'their key is missing' : places[backend]}.`
}

function nextStep({ state, server, profile }: LoginView): string | undefined {
  if (state === 'signed_in') return undefined
  return fill('drawbridge login {url}', { serverUrl: server, profile })
}
