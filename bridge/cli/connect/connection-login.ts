import { join } from 'node:path'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { version } from '../../config/version.ts'
import type { CommandInput } from '../command.ts'
import type { DebugLog } from './debug-log.ts'
import { existsSync } from 'node:fs'
import { loginId } from '../../credentials/credential-store.ts'
import type { HttpClient } from '../../http/http-client.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import type { Login } from '../../oauth/login/login.ts'
import type { PendingSignIn, SignInPrompt, TokenSource } from '../../oauth/login-port.ts'
import { linkOf } from '../../sign-in/sign-in-attempt.ts'

/** Opens the debug log of a server if wanted. All processes with that login share it. */
export async function openConnectionLog(config: BridgeConfig): Promise<DebugLog | undefined> {
  if (!config.debug) return undefined
  const { createDebugLog } = await import('./debug-log.ts')
  const path = join(config.credentials.home, 'logs', `${loginId(config.oauth).slice(0, 16)}.log`)
  const log = createDebugLog(path, configuredSecrets(config))
  log.note(`drawbridge ${version}, Node ${process.versions.node}, ${process.platform}`)
  return log
}

/** Returns the secrets of a configuration, for redaction. */
export function configuredSecrets({ token, oauth, proxy }: BridgeConfig): string[] {
  const known = [token, oauth.staticClient?.clientSecret, ...Object.values(proxy.headers)]
  return known.filter((secret) => secret !== undefined)
}

export interface ConnectionLogin {
  /** Replaced by the stored login once that is loaded. */
  tokens: TokenSource
  /** Undefined with a fixed token. */
  signIn: (() => PendingSignIn) | undefined
  /** Returns whether another process shows the link already, so that this one opens no second tab. */
  isShownElsewhere(link: string): boolean
  summary: string
  /** Await before the process ends, so that no token in flight is lost. */
  settle(): Promise<void>
}

interface ConnectionLoginPorts extends LoginPorts {
  /** Called with a later link of a sign-in, when the process that showed the first is gone. */
  laterPrompt(prompt: SignInPrompt): void
}

/** Loads the stored login at once if there is one, or else at the first refusal, which also finds one of another process. */
export function createConnectionLogin(config: BridgeConfig, ports: ConnectionLoginPorts): ConnectionLogin {
  if (config.token !== undefined) {
    const isVariable = config.fixedBy === 'environment'
    return fixedLogin(config.token, isVariable ? 'token of DRAWBRIDGE_TOKEN' : 'token of a header')
  }
  if (config.fixedBy !== 'other_header') return storedLogin(config, ports)
  return fixedLogin(undefined, 'Authorization header as given')
}

/** Creates the login of a configured token, which is never renewed, or of a header that the proxy adds itself. */
function fixedLogin(token: string | undefined, summary: string): ConnectionLogin {
  return {
    tokens: fixedTokens(token),
    signIn: undefined,
    isShownElsewhere: () => false,
    summary,
    settle: async () => {},
  }
}

/** Creates a source of one token, or of none. */
export function fixedTokens(token: string | undefined): TokenSource {
  const authorization = token === undefined ? undefined : `Bearer ${token}`
  return { authorization: async () => authorization, refused: async () => 'sign_in_needed' }
}

function storedLogin(config: BridgeConfig, ports: ConnectionLoginPorts): ConnectionLogin {
  let login: Login | undefined
  let opening: Promise<Login> | undefined
  const open = async (): Promise<Login> => {
    opening ??= openLogin(config, ports)
    login = await opening
    made.tokens = login
    return login
  }
  const record = join(config.credentials.home, 'credentials', 'records', `${loginId(config.oauth)}.json`)
  const isStored = existsSync(record)
  const shownElsewhere = new Set<string>()
  const made: ConnectionLogin = {
    tokens: {
      authorization: async (signal) =>
        isStored || opening !== undefined ? (await open()).authorization(signal) : undefined,
      refused: async (refusal) => (await open()).refused(refusal),
    },
    signIn() {
      const begun = open().then((opened) => opened.signIn())
      const prompt = begun.then(async (pending) => {
        const first = await pending.prompt
        if (first.followed) shownElsewhere.add(linkOf(first))
        pending.onPrompt?.((later) => {
          if (linkOf(later) !== linkOf(first)) ports.laterPrompt(later)
        })
        return first
      })
      const done = begun.then((pending) => pending.done)
      // A rejection that no caller awaits must not end the process.
      prompt.catch(() => {})
      done.catch(() => {})
      return { prompt, done, cancel: () => void begun.then((pending) => pending.cancel()).catch(() => {}) }
    },
    isShownElsewhere: (link) => shownElsewhere.has(link),
    summary: isStored ? 'login stored' : 'no login stored',
    settle: async () => login?.settle(),
  }
  return made
}

/** Returns whether to open the page unasked: not from two processes, and not if nothing confirms whose it is. */
export function isOpenedByItself({ followed, unconfirmed }: SignInPrompt): boolean {
  return followed !== true && unconfirmed === undefined
}

interface LoginPorts {
  http: HttpClient
  runtime: Runtime
  /** Prints a line: where the key of the logins is, or which resource beyond the server a sign-in is valid for. */
  announce(line: string): void
  /** Writes to the debug log. */
  note(text: string): void
}

/** Opens the login of a command's server for `work`. */
export async function withLogin<Result>(
  config: BridgeConfig,
  { terminal, runtime }: CommandInput,
  work: (login: Login, http: HttpClient) => Promise<Result>,
): Promise<Result> {
  const log = await openConnectionLog(config)
  const http = createHttpClient(config.network)
  try {
    const announce = (line: string): void => terminal.note(line)
    const login = await openLogin(config, { http, runtime, announce, note: log?.note ?? (() => {}) })
    return await work(login, http)
  } finally {
    http.close()
  }
}

/** Loads the modules of a stored login, so that a server without sign-in does not wait for them. */
async function openLogin(
  { oauth, credentials }: Pick<BridgeConfig, 'oauth' | 'credentials'>,
  { http, runtime, announce, note }: LoginPorts,
): Promise<Login> {
  const [{ createCredentialStore }, { Login }] = await Promise.all([
    import('../../credentials/sealed-store.ts'),
    import('../../oauth/login/login.ts'),
  ])
  const store = createCredentialStore(credentials, { runtime, announce })
  const ports = { http, runtime }
  return new Login(oauth, {
    store,
    async flow(request, announceSignIn, signal) {
      const { createSignInFlow } = await import('../../oauth/grants/sign-in-flow.ts')
      return createSignInFlow(oauth, ports, announce)(request, announceSignIn, signal)
    },
    async refresh(credential, signal) {
      const { refreshTokens } = await import('../../oauth/tokens/token-request.ts')
      return refreshTokens(credential, { ...ports, config: oauth, signal })
    },
    runtime,
    note,
  })
}
