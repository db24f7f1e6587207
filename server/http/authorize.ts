import { parseAuthorizationRequest } from '../core/authorization-request.ts'
import { answerClient } from './authorization-response.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { bindingOf, type LoginPorts, visitorOf } from './login.ts'
import { readOwnForm, takeLoginForm } from './login-form.ts'
import { renderLogin } from './login-render.ts'
import { loginPaths } from './login-view.ts'
import { strandedPage, strandedWhenClientUnavailable } from './stranded-page.ts'

/**
 * `/oauth/authorize`: GET shows the login page, POST takes its forms. Nothing reaches the session provider before a
 * form is posted, and no client gets a code without that click.
 */
export function createAuthorizeEndpoint(ports: LoginPorts): Endpoint {
  return {
    path: `${ports.urls.basePath}${loginPaths.authorization}`,
    cors: 'none',
    methods: {
      GET: strandedWhenClientUnavailable((request, context) => showLogin(request, context, ports), ports),
      POST: strandedWhenClientUnavailable((request, context) => takeForm(request, context, ports), ports),
    },
  }
}

async function showLogin(request: Request, context: RequestContext, ports: LoginPorts): Promise<Response> {
  const parameters = new URL(request.url).searchParams
  const parsed = await parseAuthorizationRequest(parameters, {
    clients: ports.clients,
    resource: ports.urls.resource,
    scopes: ports.codes.scopes,
  })
  switch (parsed.kind) {
    case 'unsafe': {
      const registered = parsed.client?.redirectUris.join(' , ')
      const detail = parsed.reason === 'redirect_uri_mismatch' ? `Registered: ${registered}` : undefined
      return strandedPage(parsed.reason, context, ports, detail)
    }
    case 'refused': {
      context.report('authorization_refused', { error: parsed.error })
      return answerClient(parsed, parsed, parsed.client, ports.urls.issuer)
    }
    case 'accepted': {
      const visitor = visitorOf(request, bindingOf(request, ports), context, ports)
      const { client, request: asked } = parsed
      const email = shownEmail(parameters, parsed.loginHint)
      return renderLogin(
        { kind: 'authorization', request: asked, client, visitor },
        { email },
        context,
        ports,
      )
    }
  }
}

/**
 * What the email field is filled with. The page asks for an account and for consent every time, so `login` and `consent` of
 * `prompt` change nothing; `select_account` asks for a free choice (OpenID Connect Core 1.0 section 3.1.2.1).
 */
function shownEmail(parameters: URLSearchParams, loginHint: string | undefined): string | undefined {
  const prompts = parameters.get('prompt')?.split(' ') ?? []
  return prompts.includes('select_account') ? undefined : loginHint
}

async function takeForm(request: Request, context: RequestContext, ports: LoginPorts): Promise<Response> {
  const fields = await readOwnForm(request, ports)
  if (typeof fields === 'string') return strandedPage(fields, context, ports)
  return takeLoginForm(request, fields, context, ports)
}
