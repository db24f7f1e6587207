import { ClientUnavailableError } from '../../core/clients/client.ts'
import type { EndpointHandler } from '../endpoint.ts'
import { errorTable, type PageErrorCode } from '../error-table.ts'
import { type ErrorView, errorPage } from '../pages/error-page.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { page, pageLanguage, retryHeaders } from '../response.ts'
import type { LoginPorts, LoginVisit } from './login-subject.ts'

/** Additions to the error's row in the table. */
type Details = Pick<ErrorView, 'detail' | 'back'> & {
  /** Replaces the next step: for an operator who reads the page. */
  nextStep?: string | undefined
  retryAfterSeconds?: number | undefined
  /** The choice that was refused. */
  field?: 'scope' | 'workspace'
}

/** Ends a request of the login flow with an error page instead of returning to the client. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
  readonly reason: PageErrorCode
  readonly details: Details

  constructor(reason: PageErrorCode, details: Details = {}) {
    super(reason)
    this.reason = reason
    this.details = details
  }
}

/** Wraps a handler of the login flow: a {@link LoginError}, or a client that cannot be looked up, becomes a page. */
export function loginHandler(
  ports: LoginPorts,
  handle: (visit: LoginVisit) => Promise<Reply> | Reply,
): EndpointHandler {
  return async (request, context) => {
    const visit = { ports, request, context, language: pageLanguage(request, ports.languages) }
    try {
      return await handle(visit)
    } catch (error) {
      const known = error instanceof ClientUnavailableError ? ofClient(error) : error
      if (known instanceof LoginError) return pageOf(known, visit)
      throw error
    }
  }
}

function ofClient({ problem, message, operatorStep }: ClientUnavailableError): LoginError {
  if (problem === 'limited') return new LoginError('client_limited')
  const reason = problem === 'passing' ? 'client_unavailable' : 'client_document_faulty'
  return new LoginError(reason, { detail: message, nextStep: operatorStep })
}

/** Renders the page, with the request id that leads to the details in the log. */
function pageOf(
  { reason, details }: LoginError,
  { context, language, ports: { app } }: LoginVisit,
): Response {
  context.report('sign_in_stranded', { reason })
  const { status } = errorTable[reason]
  const text = language.texts.errors[reason]
  const { nextStep = text.nextStep, retryAfterSeconds, ...more } = details
  const view = { language, look: app.look }
  const html = errorPage({
    ...view,
    links: app.links,
    ...text,
    ...more,
    nextStep,
    requestId: context.id,
    app,
  })
  return page(html, view, status, retryHeaders(status, retryAfterSeconds))
}
