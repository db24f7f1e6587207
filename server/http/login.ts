import { isLoopbackHostname } from '@drawbridge/shared/redirect-uri.ts'
import { type AuthorizationCodePorts, issueAuthorizationCode } from '../core/authorization-code.ts'
import type { AuthorizationRequest } from '../core/authorization-request.ts'
import type { Client, ClientStore } from '../core/client.ts'
import { toolScope } from '../core/scope.ts'
import { ProviderError, type SignIn } from '../core/session-provider.ts'
import { type BrowserBinding, sealTransaction, type SignInPorts } from '../core/sign-in.ts'
import { page } from './answer.ts'
import { answerClient, clientDisplayName, returnAddress } from './authorization-response.ts'
import type { BindingCookie } from './browser-binding.ts'
import type { RequestContext } from './endpoint.ts'
import type { PublicUrls } from './metadata.ts'
import { loginPage } from './pages/login-page.ts'
import type { SignInMessage } from './sign-in-message.ts'
import { strandedPage } from './stranded-page.ts'

/** What the endpoints of the login flow share. */
export interface LoginPorts {
  urls: PublicUrls
  appUrl: string
  clients: ClientStore
  codes: AuthorizationCodePorts
  signIn: SignInPorts
  bindingCookie: BindingCookie
}

/** What a login page is rendered from. */
export interface LoginState {
  request: AuthorizationRequest
  client: Client
  binding: BrowserBinding
  email?: string | undefined
  failure?: SignInMessage
}

const dayInSeconds = 86_400

/** The login page for an accepted authorization request, or a page that says why nobody can sign in right now. */
export async function renderLogin(
  state: LoginState,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const { request, client, binding, failure } = state
  const capabilities = await ports.signIn.provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  })
  if (!capabilities) return strandedPage('sign_in_unavailable', context, ports.appUrl)
  const html = loginPage({
    action: `${ports.urls.basePath}/oauth/authorize`,
    transaction: sealTransaction(request, binding, ports.signIn),
    client: { name: clientDisplayName(client), ...(client.uri !== undefined && { uri: client.uri }) },
    redirectHost: returnAddress(request.redirectUri),
    returnsToThisComputer: isLoopbackUri(request.redirectUri),
    permissions: permissionsOf(request.scope, ports.codes.sessionTtlSeconds),
    password: capabilities.password,
    social: capabilities.social.map((id) => ({ id, label: socialLabel(id) })),
    appUrl: ports.appUrl,
    ...(state.email !== undefined && { email: state.email }),
    ...(failure && { error: failure.text }),
  })
  return page(html, failure?.status ?? 200, { 'set-cookie': ports.bindingCookie.write(binding) })
}

/** Issues the code for a completed sign-in and sends the browser back to the client with it. */
export async function completeLogin(
  request: AuthorizationRequest,
  client: Client,
  signIn: SignIn,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const code = await issueAuthorizationCode(request, signIn, ports.codes)
  context.report('signed_in', { client_id: client.id, sub: signIn.identity.sub })
  return answerClient(request, { code }, client, ports.urls.issuer)
}

function isLoopbackUri(uri: string): boolean {
  return URL.canParse(uri) && isLoopbackHostname(new URL(uri).hostname)
}

function permissionsOf(scope: string, sessionTtlSeconds: number): string[] {
  const days = Math.round(sessionTtlSeconds / dayInSeconds)
  const lasting =
    days >= 1 ? `${days} ${days === 1 ? 'day' : 'days'}` : `${Math.ceil(sessionTtlSeconds / 60)} minutes`
  return [
    ...(scope.split(' ').includes(toolScope)
      ? ['Use the tools of the web app as you: read and change what you can there']
      : []),
    `Stay connected for ${lasting}, without asking you again`,
  ]
}

const socialLabels: Readonly<Record<string, string>> = {
  google: 'Google',
  github: 'GitHub',
  gitlab: 'GitLab',
  azure: 'Microsoft',
  apple: 'Apple',
  linkedin_oidc: 'LinkedIn',
}

function socialLabel(id: string): string {
  return Object.hasOwn(socialLabels, id) ? (socialLabels[id] ?? id) : id.charAt(0).toUpperCase() + id.slice(1)
}
