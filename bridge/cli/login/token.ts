import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { OAuthFailure } from '../../oauth/login-port.ts'
import { type CommandInput, configOf, printResult } from '../command.ts'
import { loginId } from '../../credentials/credential-store.ts'
import { withLogin } from '../connect/connection-login.ts'
import { CommandFailure } from '../failure/failure-text.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { asTyped } from '../terminal/program-name.ts'
import { durationText } from '../terminal/progress.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { parseToken } from '@drawbridge/shared/settings/value.ts'

const maxBytes = 64 * 1024
const lockMs = 20_000

/** Stores an access token from stdin as the login of a server. Checks only its form, and its end if it says one. */
export async function setToken(input: CommandInput): Promise<ExitCode> {
  const config = configOf(input)
  const { terminal, runtime } = input
  if (terminal.isInteractive) terminal.note(asTyped('Paste the token, then press Enter and Ctrl-D.'))
  const token = await readToken(input)
  const now = runtime.now()
  const jwt = readJwt(token)
  const expiresAt = jwt?.expiresAt
  if (expiresAt !== undefined && expiresAt <= now) {
    throw new CommandFailure(
      `The token expired ${durationText(now - expiresAt)} ago.`,
      'Get a new one, and store it: drawbridge token set {url}',
    )
  }
  const { createCredentialStore } = await import('../../credentials/sealed-store.ts')
  const store = createCredentialStore(config.credentials, {
    runtime,
    announce: (line) => terminal.note(line),
  })
  const id = loginId(config.oauth)
  const { serverUrl, oauth } = config
  const issuer = jwt?.claims['iss']
  await store.exclusively(id, { waitMs: lockMs }, async () => {
    const before = await store.read(id).catch(() => undefined)
    await store.write(id, {
      generation: (before?.generation ?? -1) + 1,
      serverUrl,
      profile: oauth.profile,
      issuer: typeof issuer === 'string' ? issuer : new URL(serverUrl).origin,
      tokenEndpoint: '',
      client: { clientId: 'token set', tokenEndpointAuthMethod: 'none', origin: 'static' },
      tokens: { accessToken: token, issuedAt: now, expiresAt },
      signedInAt: now,
      signInId: encodeBase64url(runtime.randomBytes(16)),
    })
  })
  const ends = endOf(expiresAt ?? null, now)
  printResult(input, { ok: true, server: serverUrl, ...ends }, () => {
    const life = lifeText(ends) ?? 'does not say when it ends'
    terminal.note(`Stored the token for ${serverUrl}: it ${life}, and it cannot be renewed.`)
  })
  return exitCode.ok
}

async function readToken({ terminal }: CommandInput): Promise<string> {
  const nextStep = 'drawbridge token set {url} < token.txt'
  let text = ''
  for await (const chunk of terminal.input) {
    text += String(chunk)
    if (text.length > maxBytes)
      throw new CommandFailure('The text on stdin is too long for a token.', nextStep)
  }
  try {
    // Users copy it with the name of its header.
    return parseToken(text.trim().replace(/^(?:authorization: *)?bearer +/i, ''))
  } catch (error) {
    throw new ConfigError([`No token on stdin: ${(error as Error).message}.`], nextStep)
  }
}

/** Prints how long the access token lasts, after renewing it if that is due. Returns 3 without a login. */
export async function printToken(input: CommandInput): Promise<ExitCode> {
  const config = configOf(input)
  const { terminal, runtime, options } = input
  if (config.fixedBy !== undefined) {
    throw new CommandFailure(
      'The token is set by a variable or a header: none is stored.',
      'Remove that, or use the token you have.',
    )
  }
  await withLogin(config, input, async (login) => {
    const authorization = await login.authorization()
    const state = await login.state()
    await login.settle()
    if (authorization === undefined || state?.state !== 'signed_in') {
      throw new OAuthFailure('sign_in_needed', `Not signed in to ${config.serverUrl}.`)
    }
    const token = options.show ? authorization.replace(/^\S+ +/, '') : undefined
    const ends = endOf(state.expires_at, runtime.now())
    const facts = { ok: true, server: config.serverUrl, ...ends, scope: state.scope }
    printResult(input, { ...facts, ...(token !== undefined && { token }) }, () => {
      if (token !== undefined) terminal.print(token)
      const life = lifeText(ends)
      const expiry = life === undefined ? 'The server did not say when it expires' : `It ${life}`
      const renewal = state.renews ? 'the bridge renews it' : 'it cannot be renewed'
      const hint = token === undefined ? ' To print the token itself: --show' : ''
      terminal.note(`${expiry}; ${renewal}.${hint}`)
    })
  })
  return exitCode.ok
}

function endOf(expiresAt: number | null, now: number) {
  return { expires_at: expiresAt, expires_in: expiresAt === null ? null : expiresAt - now }
}

function lifeText({ expires_in: seconds }: ReturnType<typeof endOf>): string | undefined {
  return seconds === null ? undefined : `expires in ${durationText(seconds)}`
}
