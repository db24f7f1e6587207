import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { parseAuthorizationRequest } from '../core/authorization-request.ts'
import { ProviderError } from '../core/session-provider.ts'
import { cancelSecondFactor } from '../core/second-factor-step.ts'
import { signInWithPassword, startSocialSignIn } from '../core/sign-in.ts'
import { createBrowserBinding, openTransaction } from '../core/sign-in-transaction.ts'
import { redirect } from './answer.ts'
import { answerClient } from './authorization-response.ts'
import { readForm } from './body.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { isOwnFormPost } from './guards.ts'
import { type LoginPorts, type LoginSubject, renderLogin } from './login.ts'
import { continueLogin, takeSecondFactor } from './login-second-factor.ts'
import { captchaFields } from './pages/captcha.ts'
import { signInFailure } from './sign-in-message.ts'
import { type StrandedReason, strandedPage } from './stranded-page.ts'

const maxShownEmailLength = 320

/**
 * `/oauth/authorize`: GET shows the login page, POST takes its forms. Nothing reaches the session provider before a
 * form is posted, and no client gets a code without that click.
 */
export function createAuthorizeEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}/oauth/authorize`,
    cors: 'none',
    methods: {
      GET: (request, context) => showLogin(request, context, ports),
      POST: (request, context) => takeForm(request, context, ports),
    },
  }
}

async function showLogin(request: Request, context: RequestContext, ports: LoginPorts): Promise<Response> {
  const parameters = new URL(request.url).searchParams
  const parsed = await parseAuthorizationRequest(parameters, ports.clients, ports.urls.resource)
  switch (parsed.kind) {
    case 'unsafe': {
      const registered = parsed.client?.redirectUris.join(' , ')
      const detail = parsed.reason === 'redirect_uri_mismatch' ? `Registered: ${registered}` : undefined
      return strandedPage(parsed.reason, context, ports.appUrl, detail)
    }
    case 'refused': {
      context.report('authorization_refused', { error: parsed.error })
      return answerClient(parsed, parsed, parsed.client, ports.urls.issuer)
    }
    case 'accepted': {
      const binding =
        ports.bindingCookie.read(request) ?? createBrowserBinding(ports.signIn.runtime.randomBytes)
      const { client, loginHint: email } = parsed
      return renderLogin({ request: parsed.request, client, binding, email }, context, ports)
    }
  }
}

/** A posted form that may be acted on. */
interface LoginForm extends LoginSubject {
  fields: URLSearchParams
}

async function takeForm(request: Request, context: RequestContext, ports: LoginPorts): Promise<Response> {
  const form = await openForm(request, ports)
  if (typeof form === 'string') return strandedPage(form, context, ports.appUrl)
  const { fields, ...subject } = form
  const pendingId = fields.get('second_factor')
  if (fields.get('action') === 'deny') {
    if (pendingId !== null) await cancelSecondFactor(pendingId, ports.signIn)
    const outcome = { error: 'access_denied', description: 'The user refused.' }
    context.report('authorization_denied', { client_id: form.client.id })
    return answerClient(form.request, outcome, form.client, ports.urls.issuer)
  }
  if (pendingId !== null) return takeSecondFactor(pendingId, fields, subject, context, ports)
  try {
    return await takeFirstStep(form, context, ports)
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    context.report('sign_in_failed', { failure: error.failure, message: error.message })
    const email = fields.get('email')?.slice(0, maxShownEmailLength)
    return renderLogin({ ...subject, email, failure: signInFailure(error) }, context, ports)
  }
}

/** The posted form with the transaction it carries, or why it may not be acted on. */
async function openForm(request: Request, ports: LoginPorts): Promise<LoginForm | StrandedReason> {
  if (!isOwnFormPost(request, ports.urls.issuer)) return 'foreign_form'
  const fields = await readForm(request).catch((error: unknown) => {
    if (error instanceof OAuthError) return undefined
    throw error
  })
  if (!fields) return 'form_unreadable'
  const binding = ports.bindingCookie.read(request)
  const opened = openTransaction(fields.get('transaction') ?? '', binding, ports.signIn)
  if (opened.kind === 'foreign_browser') return 'foreign_browser'
  if (opened.kind !== 'open' || binding === undefined) {
    return opened.kind === 'expired' ? 'transaction_expired' : 'transaction_invalid'
  }
  const client = await ports.clients.findClient(opened.request.clientId)
  return client ? { fields, request: opened.request, client, binding } : 'client_unknown'
}

async function takeFirstStep(
  { fields, ...subject }: LoginForm,
  context: RequestContext,
  ports: LoginPorts,
): Promise<Response> {
  const { request, binding } = subject
  const method = fields.get('provider')
  if (method !== null) return redirect(await startSocialSignIn(request, method, binding, ports.signIn))
  const posted = {
    email: fields.get('email') ?? '',
    password: fields.get('password') ?? '',
    captchaToken: captchaFields.map((name) => fields.get(name)).find((token) => token) ?? undefined,
  }
  const step = await signInWithPassword(posted, binding, ports.signIn)
  return continueLogin(step, subject, context, ports)
}
