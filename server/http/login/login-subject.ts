import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { AccessControl } from '../../core/access/access-control.ts'
import { signInKey } from '../../core/attempts/attempt-book.ts'
import type { DevicePorts } from '../../core/authorization/device-authorization.ts'
import type { Store } from '../../core/store.ts'
import type { AttemptSource } from '../../core/limits/attempt-limit.ts'
import { isUnusedRegistration } from '../../core/clients/client-life.ts'
import type { Client, ClientFinder } from '../../core/clients/client.ts'
import { openKnownAccounts } from '../../core/sign-in/device-cookie.ts'
import type { SignInVisitor } from '../../core/sign-in/sign-in-limit.ts'
import { type BrowserBinding, createBrowserBinding } from '../../core/sign-in/browser-seal.ts'
import {
  type AccountPurpose,
  clientIdOf,
  type ClientPurpose,
  type SignInPurpose,
} from '../../core/sign-in/sign-in-transaction.ts'
import type { SignInPorts } from '../../core/sign-in/pending-sign-in.ts'
import type { GrantChangePorts } from '../../core/session/grant-change.ts'
import type { Languages } from '../../texts/languages.ts'
import type { Language } from '../../texts/language.ts'
import type { RequestContext } from '../endpoint.ts'
import type { AppView } from '../pages/layout.ts'
import type { PublicUrls } from '../public-urls.ts'
import type { LoginCookies } from '../cookies.ts'

/** Ports of the login endpoints and their pages. */
export interface LoginPorts extends DevicePorts, SignInPorts, GrantChangePorts {
  urls: PublicUrls
  app: AppView
  languages: Languages
  clients: ClientFinder
  store: Store
  runtime: SignInPorts['runtime']
  scopes: DevicePorts['scopes']
  access: AccessControl
  cookies: LoginCookies
  /** The page of the web app where users sign in and allow access; undefined: that is done on our own page. */
  signInUrl: string | undefined
  /** Users can make tokens for themselves. */
  personalTokens: boolean
}

/** The purpose of a sign-in, with the requesting client, and the visitor. */
export type LoginSubject = { visitor: SignInVisitor } & (
  | (ClientPurpose & { client: Client })
  | (AccountPurpose & { client?: undefined; boxes?: undefined })
)

/** A request of the login flow. */
export interface LoginVisit {
  ports: LoginPorts
  request: Request
  context: RequestContext
  /** The language of the link or the browser; from {@link findSignIn} on, the language of the sign-in. */
  language: Language
}

/** A subject with a client that gets access. */
export type ClientSubject = Exclude<LoginSubject, { kind: 'account' }>

/** A request that belongs to a sign-in. */
export interface SignInVisit extends LoginVisit {
  subject: LoginSubject
}

/** Paths of the pages of each kind of sign-in, below the path of the base URL. Each handles the forms of its own pages. */
export const loginPaths: Readonly<Record<LoginSubject['kind'], string>> = {
  authorization: '/oauth/authorize',
  device: '/oauth/device',
  account: '/account/connections',
}

/**
 * Returns the path of the connections page. Without the origin: on loopback the browser may know this server by another name, and
 * its cookies belong to that name.
 */
export function accountPath({ urls }: LoginPorts): string {
  return `${urls.basePath}${loginPaths.account}`
}

/** Returns the part of a subject that is sealed into its pages, which all have one language. */
export function purposeOf({ subject, language }: SignInVisit): SignInPurpose {
  const { client: _client, visitor: _visitor, ...purpose } = subject
  return { ...purpose, language: language.tag }
}

/**
 * Finds the sign-in that a request belongs to, and sets its language on `visit`. Undefined if its client is gone, or no longer has the
 * redirect URI of the request: a page is valid for an hour, and the client may change in that time. Rejects with
 * `ClientUnavailableError` when the client cannot be looked up.
 */
export async function findSignIn(
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  visit: LoginVisit,
): Promise<SignInVisit | undefined> {
  const { clients, languages } = visit.ports
  visit.language = languages.find(purpose.language) ?? visit.language
  if (purpose.kind === 'account') return toSignIn({ ...purpose, visitor }, visit)
  const client = await clients.findClient(clientIdOf(purpose), 'sign_in', sourceOf(visitor))
  const returns =
    purpose.kind !== 'authorization' ||
    matchRedirectUri(client?.redirectUris ?? [], purpose.request.redirectUri)
  return client && returns ? toSignIn({ ...purpose, client, visitor }, visit) : undefined
}

/** Makes a request one of a sign-in, and notes which attempt to connect it belongs to. */
export function toSignIn(subject: LoginSubject, visit: LoginVisit): SignInVisit {
  recordAttempt(subject, visit.context)
  return { ...visit, subject }
}

/** Notes the client and sign-in of a request for the record of attempts. Signing in to see connections is none. */
export function recordAttempt(
  purpose: SignInPurpose | LoginSubject,
  { attempt }: Pick<LoginVisit['context'], 'attempt'>,
): void {
  if (purpose.kind === 'account') return attempt?.(undefined)
  const of = purpose.kind === 'authorization' ? purpose.request.codeChallenge : purpose.device.deviceHash
  attempt?.({ clientId: clientIdOf(purpose), signIn: signInKey(of) })
}

/** Records that a page of the sign-in is open, so that its client's registration is not removed meanwhile. */
export async function recordPageOpen(subject: LoginSubject, { store, runtime }: LoginPorts): Promise<void> {
  if (subject.kind === 'account' || !isUnusedRegistration(subject.client)) return
  await store.noteClientOpened(subject.client.id, runtime.now())
}

/** Returns the source of a visitor's attempts for limits. */
export function sourceOf({ address, knownAccounts }: SignInVisitor): AttemptSource {
  return { address, known: knownAccounts.length > 0 }
}

/** Returns the CSRF value of the requesting browser, or a new one for it. */
export function bindingOf({ request, ports }: LoginVisit): BrowserBinding {
  return ports.cookies.csrf.read(request) ?? createBrowserBinding(ports.runtime.randomBytes)
}

/** Returns the visitor who sends the request, in the browser with the CSRF value `binding`. */
export function visitorOf(binding: BrowserBinding, { request, context, ports }: LoginVisit): SignInVisitor {
  const knownAccounts = openKnownAccounts(ports.cookies.device.read(request), ports)
  return { binding, address: context.address, knownAccounts }
}
