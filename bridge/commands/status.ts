import { loginId } from '../credentials/login-id.ts'
import type { KeyBackend } from '../credentials/credential-store.ts'
import { durationText } from '../terminal/duration-text.ts'
import type { Terminal } from '../terminal/output.ts'
import { type CommandInput, credentialsOf, settingsOf } from './command.ts'
import { type ExitCode, exitCode } from './exit-code.ts'
import { shellWord } from './failure-text.ts'
import { loginView, type LoginView } from './login-view.ts'

/**
 * Prints the stored logins, all or those of one server. Asks neither a server nor an authorization server, so a login that
 * was revoked meanwhile still looks good. Answers 3 when one needs a sign-in, or when there is none.
 */
export async function status(input: CommandInput): Promise<ExitCode> {
  const { json, terminal, runtime } = input
  const read = settingsOf(input)
  const { createCredentialStore } = await import('../credentials/sealed-store.ts')
  const config = credentialsOf(read)
  const store = createCredentialStore(config, { runtime, announce: () => {} })
  const asked = read.serverUrl === undefined ? undefined : comparable(read.serverUrl)
  const now = runtime.now()
  const logins = (await store.list())
    .map(({ credential }) => loginView(credential, now))
    .filter(({ server }) => asked === undefined || comparable(server) === asked)
    .sort((a, b) => `${a.server} ${a.profile}`.localeCompare(`${b.server} ${b.profile}`))
  const backend = await store.backend()
  const isGood = logins.length > 0 && logins.every(({ state }) => state === 'signed_in')
  if (json) {
    const facts = logins.map((login) => ({ ...login, next_step: nextStep(login) ?? null }))
    terminal.print(JSON.stringify({ ok: isGood, home: config.home, key: backend ?? null, logins: facts }))
  } else {
    for (const login of logins) terminal.print(loginText(login, now, terminal))
    terminal.print(keyText(backend, config.home))
    if (logins.length === 0) {
      terminal.note(`No login is stored${asked === undefined ? '' : ` for ${String(read.serverUrl)}`}.`)
      terminal.note(`drawbridge login ${read.serverUrl === undefined ? '<url>' : shellWord(read.serverUrl)}`)
    }
  }
  return isGood ? exitCode.ok : exitCode.signInNeeded
}

/** Two ways to write one address are the same server, as for the store. */
function comparable(serverUrl: string): string {
  if (!URL.canParse(serverUrl)) return serverUrl
  return loginId({ serverUrl, resource: undefined, client: undefined, profile: '' })
}

function loginText(login: LoginView, now: number, { colour }: Pick<Terminal, 'colour'>): string {
  const isGood = login.state === 'signed_in'
  const mark = isGood ? colour('green', 'signed in') : colour('red', 'sign-in needed')
  const profile = login.profile === 'default' ? '' : ` (profile ${login.profile})`
  const lines = [
    `${login.server}${profile}`,
    `  ${mark}, since ${dateText(login.signed_in_at)}`,
    `  issuer   ${login.issuer}`,
    `  client   ${login.client_id}`,
    `  scope    ${login.scope ?? 'not said'}`,
    `  token    ${tokenText(login, now)}`,
    ...(login.reason === null ? [] : [`  reason   ${login.reason}`]),
    ...(isGood ? [] : [`  -> ${String(nextStep(login))}`]),
  ]
  return `${lines.join('\n')}\n`
}

function tokenText({ expires_at: expiresAt, renews }: LoginView, now: number): string {
  const renewal = renews ? 'renewed without you' : 'not renewed'
  if (expiresAt === null) return `end not said, ${renewal}`
  const left = expiresAt - now
  return `${left > 0 ? `ends in ${durationText(left)}` : `ended ${durationText(-left)} ago`}, ${renewal}`
}

function keyText(backend: KeyBackend | undefined, home: string): string {
  switch (backend) {
    case 'keychain':
      return `Logins are sealed in ${home}; their key is in the keychain.`
    case 'file':
      return `Logins are sealed in ${home}; their key is in a file there: whoever can read your files has both.`
    case 'memory':
      return 'Logins are kept in memory only, and gone with each process.'
    case undefined:
      return `Nothing was stored yet in ${home}.`
  }
}

function nextStep({ state, server, profile }: LoginView): string | undefined {
  if (state === 'signed_in') return undefined
  return `drawbridge login ${shellWord(server)}${profile === 'default' ? '' : ` --profile ${profile}`}`
}

function dateText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().slice(0, 16).replace('T', ' ')
}
