import { join } from 'node:path'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { version } from '../../config/version.ts'
import type { DebugLog } from './debug-log.ts'
import { existsSync } from 'node:fs'
import { type LoginId, loginId } from '../../credentials/credential-store.ts'
import type { RefusalOutcome } from '../../http/authorization.ts'
import { createFixedLogin } from '../../oauth/login/fixed-login.ts'
import type { Login, PendingSignIn, SignInPrompt, TokenSource } from '../../oauth/login-port.ts'
import { unconfirmedText } from '../../sign-in/sign-in-attempt.ts'
import { type LoginPorts, openLogin } from './login-session.ts'

/** The log of what goes on with one server, when it is wanted. All processes of that login share it. */
export async function openConnectionLog(config: BridgeConfig): Promise<DebugLog | undefined> {
  if (!config.output.debug) return undefined
  const { createDebugLog } = await import('./debug-log.ts')
  const { oauth, proxy, token, credentials } = config
  const secrets = [token, oauth.staticClient?.clientSecret, ...Object.values(proxy.headers)]
  const log = createDebugLog(
    join(credentials.home, 'logs', `${loginIdOf(config).slice(0, 16)}.log`),
    secrets.filter((secret) => secret !== undefined),
  )
  log.note(`drawbridge ${version}, Node ${process.versions.node}, ${process.platform}`)
  return log
}

/** The login of a connection. */
export interface ConnectionLogin {
  tokens: TokenSource
  /** Undefined: nobody can sign in, as the token is fixed. */
  signIn: (() => PendingSignIn) | undefined
  /** Whether a link is shown by another process already, so that this one opens no second tab. */
  isShownElsewhere(link: string): boolean
  /** For the first line on stderr. */
  summary: string
  /** To be awaited before the process ends: no token is on its way that would be lost. */
  settle(): Promise<void>
}

/** What the login of a configuration is stored under; the memory of a server goes by it as well. */
export function loginIdOf({ serverUrl, oauth }: Pick<BridgeConfig, 'serverUrl' | 'oauth'>): LoginId {
  const client = oauth.staticClient?.clientId
  return loginId({ serverUrl, resource: oauth.resource, client, profile: oauth.profile })
}

/** What a connection's login needs beside what every login needs. */
interface ConnectionLoginPorts extends LoginPorts {
  /** Told of a link that came after the first one of a sign-in: the process that was followed is gone. */
  laterPrompt(prompt: SignInPrompt): void
}

/**
 * The login of a connection, which loads nothing until it has to: right away when something is stored for this server,
 * else at its first refusal. After a sign-in of another process the server refuses, and so that one is found.
 */
export function createConnectionLogin(config: BridgeConfig, ports: ConnectionLoginPorts): ConnectionLogin {
  if (config.token !== undefined) return fixedLogin(config.token, config.fixedBy)
  if (config.fixedBy !== 'other_header') return storedLogin(config, ports)
  const refused: RefusalOutcome = { kind: 'sign_in_needed' }
  return {
    ...withoutSignIn,
    tokens: { authorization: async () => undefined, refused: async () => refused },
    summary: 'Authorization header as given',
  }
}

const withoutSignIn = { signIn: undefined, isShownElsewhere: () => false, settle: async () => {} }

function fixedLogin(token: string, by: BridgeConfig['fixedBy']): ConnectionLogin {
  const summary = by === 'environment' ? 'token of DRAWBRIDGE_TOKEN' : 'token of a header'
  return { ...withoutSignIn, tokens: createFixedLogin(token), summary }
}

function storedLogin(config: BridgeConfig, ports: ConnectionLoginPorts): ConnectionLogin {
  let login: Login | undefined
  let opening: Promise<Login> | undefined
  const open = async (): Promise<Login> => {
    opening ??= openLogin(config, ports).then((session) => session.login)
    login = await opening
    return login
  }
  const record = join(config.credentials.home, 'credentials', 'records', `${loginIdOf(config)}.json`)
  const isStored = existsSync(record)
  const shownElsewhere = new Set<string>()
  return {
    tokens: {
      async authorization(signal) {
        if (login !== undefined) return login.authorization(signal)
        return isStored || opening !== undefined ? (await open()).authorization(signal) : undefined
      },
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
      // Whoever asks is told; whoever does not must not end the process.
      prompt.catch(() => {})
      done.catch(() => {})
      return { prompt, done, cancel: () => void begun.then((pending) => pending.cancel()).catch(() => {}) }
    },
    isShownElsewhere: (link) => shownElsewhere.has(link),
    summary: isStored ? 'login stored' : 'no login stored',
    settle: async () => login?.settle(),
  }
}

/** What a person opens. */
export function linkOf(prompt: SignInPrompt): string {
  return prompt.kind === 'device' ? (prompt.completeUrl ?? prompt.url) : prompt.url
}

/** What a person reads. */
export function promptText(prompt: SignInPrompt): string {
  const warning = unconfirmedText(prompt)
  if (prompt.kind === 'browser') return `${warning}Sign in here: ${prompt.url}`
  return `${warning}${prompt.askedBy} asks you to open ${prompt.url} ${whereToOpen(prompt.url)} and enter the code ${prompt.userCode}`
}

/** A page of this computer is out of reach for a phone. */
function whereToOpen(url: string): string {
  const isHere = URL.canParse(url) && isLoopbackHostname(new URL(url).hostname)
  return isHere ? 'in a browser on this computer' : 'on any device'
}

/** Whether the page may be opened without the person: not by two processes, and not if nothing confirms whose it is. */
export function isOpenedByItself({ followed, unconfirmed }: SignInPrompt): boolean {
  return followed !== true && unconfirmed === undefined
}
