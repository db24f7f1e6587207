import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { AttemptSource } from '../core/access/attempt-limit.ts'
import type { AuthorizationCodePorts } from '../core/authorization/authorization-code.ts'
import type { AuthorizationRequest } from '../core/authorization/authorization-request.ts'
import type { Client, ClientFinder, ClientStore } from '../core/clients/client.ts'
import type { DeviceStore, PendingDevice } from '../core/authorization/device-authorization-store.ts'
import { isUnusedRegistration } from '../core/clients/client-life.ts'
import { openKnownAccounts } from '../core/sign-in/device-cookie.ts'
import type { SignInPorts } from '../core/sign-in/sign-in.ts'
import {
  type BrowserBinding,
  createBrowserBinding,
  type SignInPurpose,
} from '../core/sign-in/sign-in-transaction.ts'
import type { SignInVisitor } from '../core/sign-in/sign-in-limit.ts'
import type { RequestContext } from './endpoint.ts'
import type { LoginCookies } from './login-cookies.ts'
import type { PublicUrls } from './metadata.ts'

/** What the endpoints of the login flow share. */
export interface LoginPorts {
  urls: PublicUrls
  appUrl: string
  /** What people call the web app. */
  appName: string
  clients: ClientFinder
  registrations: Pick<ClientStore, 'noteClientOpened'>
  codes: AuthorizationCodePorts
  devices: DeviceStore
  signIn: SignInPorts
  cookies: LoginCookies
}

/** What a sign-in is for, with the client that asks, and who signs in. */
export type LoginSubject = { visitor: SignInVisitor } & (
  | { kind: 'authorization'; request: AuthorizationRequest; client: Client }
  | { kind: 'device'; device: PendingDevice; userCode: string; client: Client }
  | { kind: 'account' }
)

/** What of a subject is sealed into its pages. */
export function purposeOf(subject: LoginSubject): SignInPurpose {
  switch (subject.kind) {
    case 'authorization':
      return { kind: 'authorization', request: subject.request }
    case 'device':
      return { kind: 'device', device: subject.device, userCode: subject.userCode }
    case 'account':
      return { kind: 'account' }
  }
}

/**
 * The subject of a purpose; undefined when its client is not there any more, or does not return any more to where the answer
 * would go: a page is good for an hour, and in that time its makers may have taken an address back. Rejects with `ClientUnavailableError` when
 * nobody can say right now.
 */
export async function findSubject(
  purpose: SignInPurpose,
  visitor: SignInVisitor,
  { clients }: Pick<LoginPorts, 'clients'>,
): Promise<LoginSubject | undefined> {
  if (purpose.kind === 'account') return { ...purpose, visitor }
  const { clientId } = purpose.kind === 'authorization' ? purpose.request : purpose.device
  const client = await clients.findClient(clientId, 'sign_in', sourceOf(visitor))
  const returns =
    purpose.kind !== 'authorization' ||
    matchRedirectUri(client?.redirectUris ?? [], purpose.request.redirectUri)
  return client && returns ? { ...purpose, client, visitor } : undefined
}

/** Notes that a page of the sign-in is open, so that nobody loses the registration of its client meanwhile. */
export async function notePageOpen(
  subject: LoginSubject,
  { registrations, signIn }: Pick<LoginPorts, 'registrations' | 'signIn'>,
): Promise<void> {
  if (subject.kind === 'account' || !isUnusedRegistration(subject.client)) return
  await registrations.noteClientOpened(subject.client.id, signIn.runtime.now())
}

/** What a visitor counts as in limits. */
export function sourceOf({ address, knownAccounts }: SignInVisitor): AttemptSource {
  return { address, known: knownAccounts.length > 0 }
}

/** The binding of the browser that sends `request`, or a new one for it. */
export function bindingOf(
  request: Request,
  { cookies, signIn }: Pick<LoginPorts, 'cookies' | 'signIn'>,
): BrowserBinding {
  return cookies.binding.read(request) ?? createBrowserBinding(signIn.runtime.randomBytes)
}

/** Who sends `request`, in a browser that has `binding`. */
export function visitorOf(
  request: Request,
  binding: BrowserBinding,
  context: RequestContext,
  { cookies, signIn }: Pick<LoginPorts, 'cookies' | 'signIn'>,
): SignInVisitor {
  const knownAccounts = openKnownAccounts(cookies.known.read(request), signIn)
  return { binding, address: context.address, knownAccounts }
}
