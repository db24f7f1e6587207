import { isLoopbackHostname } from '@drawbridge/shared/redirect-uri.ts'
import { type AuthorizationCodePorts, issueAuthorizationCode } from '../core/authorization-code.ts'
import type { AuthorizationRequest } from '../core/authorization-request.ts'
import type { Client, ClientStore } from '../core/client.ts'
import { toolScope } from '../core/scope.ts'
import { type ProviderCapabilities, ProviderError, type SignIn } from '../core/session-provider.ts'
import type { SignInPorts } from '../core/sign-in.ts'
import { keepOrSignOut } from '../core/sign-in-orphan.ts'
import { type BrowserBinding, sealTransaction } from '../core/sign-in-transaction.ts'
import { page } from './answer.ts'
import { answerClient, clientDisplayName, returnAddress } from './authorization-response.ts'
import type { BindingCookie } from './browser-binding.ts'
import type { RequestContext } from './endpoint.ts'
import type { PublicUrls } from './metadata.ts'
import { captchaPolicy } from './pages/captcha.ts'
import { contentSecurityPolicy } from './pages/layout.ts'
import { loginPage } from './pages/login-page.ts'
import type { RequestView } from './pages/request-summary.ts'
import { retryHeaders, type SignInFailure, signInMessages } from './sign-in-message.ts'
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

/** What a sign-in is for, and the browser that it happens in. */
export interface LoginSubject {
  request: AuthorizationRequest
  client: Client
  binding: BrowserBinding
}

/** What a login page is rendered from. */
export interface LoginState extends LoginSubject {
  email?: string | undefined
  failure?: SignInFailure
}

const dayInSeconds = 86_400

/** The login page for an accepted authorization request, or a page that says why nobody can sign in right now. */
export async function renderLogin(
  state: LoginState,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const capabilities = await ports.signIn.provider.capabilities().catch((error: unknown) => {
    if (!(error instanceof ProviderError)) throw error
    context.report('provider_failed', { failure: error.failure, message: error.message })
    return undefined
  })
  if (!capabilities) return strandedPage('sign_in_unavailable', context, ports.appUrl)
  const password = capabilities.password && ports.signIn.provider.passwordSignIn !== undefined
  const captcha = password ? capabilities.captcha : undefined
  const failure = state.failure && withCaptchaKnown(state.failure, capabilities)
  const html = loginPage({
    ...formView(state, ports),
    ...requestView(state, ports),
    password,
    social: capabilities.social,
    ...(captcha && { captcha }),
    ...(state.email !== undefined && { email: state.email }),
    ...(failure && { error: signInMessages[failure.reason].text }),
  })
  return page(html, failure ? signInMessages[failure.reason].status : 200, {
    ...(failure && retryHeaders(failure)),
    ...(captcha && { 'content-security-policy': contentSecurityPolicy(captchaPolicy(captcha)) }),
    'set-cookie': ports.bindingCookie.write(state.binding),
  })
}

/** Asked for a captcha that it has no site key of, a page cannot help; somebody has to configure it. */
function withCaptchaKnown(failure: SignInFailure, { captcha }: ProviderCapabilities): SignInFailure {
  return failure.reason === 'captcha' && !captcha ? { reason: 'captcha_not_configured' } : failure
}

/** Where the forms of a sign-in page post to, and the sealed request they carry. */
export function formView(
  { request, binding }: LoginSubject,
  { urls, signIn }: LoginPorts,
): { action: string; transaction: string } {
  return {
    action: `${urls.basePath}/oauth/authorize`,
    transaction: sealTransaction(request, binding, signIn),
  }
}

/** Who asks and for what, as every page of a sign-in shows it. */
export function requestView({ request, client }: LoginSubject, ports: LoginPorts): RequestView {
  return {
    client: { name: clientDisplayName(client), ...(client.uri !== undefined && { uri: client.uri }) },
    redirectHost: returnAddress(request.redirectUri),
    returnsToThisComputer: isLoopbackUri(request.redirectUri),
    permissions: permissionsOf(request.scope, ports.codes.sessionTtlSeconds),
    appUrl: ports.appUrl,
  }
}

/** Issues the code for a completed sign-in and sends the browser back to the client with it. */
export async function completeLogin(
  { request, client }: LoginSubject,
  signIn: SignIn,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const code = await keepOrSignOut(signIn.session, ports.signIn.provider, () =>
    issueAuthorizationCode(request, signIn, ports.codes),
  )
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
