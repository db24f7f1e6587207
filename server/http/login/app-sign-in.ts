import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { z } from 'zod'
import {
  allowInApp,
  AppAnswerRefused,
  answerOnce,
  denialUrl,
  type OpenAppRequest,
  readAppRequest,
} from '../../core/sign-in/app-sign-in.ts'
import { ProviderError, type ProviderFailure } from '../../core/session/session-provider.ts'
import { clientIdOf } from '../../core/sign-in/sign-in-transaction.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { readJson } from '../middleware/body.ts'
import { httpError, json, oauthFailure, pageLanguage, retryHeaders } from '../response.ts'
import { describeAppRequest } from './app-request.ts'
import { findSignIn, type LoginPorts, type LoginVisit, type SignInVisit } from './login-subject.ts'
import { failureText, provenAccountFailure } from './sign-in-failure.ts'

const answerSchema = z.object({
  request: z.string(),
  allow: z.boolean(),
  scope: z.string().optional(),
  workspace: z.string().optional(),
})

/**
 * `/oauth/app`, for the web app's own sign-in page or its server: GET describes the request that brought the browser there, POST
 * answers it with a proof of the user as bearer token, and returns where the browser goes next. Pages of the web app's origin only.
 */
export function createAppSignInEndpoint(ports: LoginPorts): Endpoint {
  const { origin } = new URL(ports.app.appUrl)
  const handle =
    (work: (visit: LoginVisit) => Promise<Reply>) =>
    async (request: Request, context: RequestContext): Promise<Reply> => {
      const from = request.headers.get('origin')
      if (from === null || from === origin)
        return work({ ports, request, context, language: pageLanguage(request, ports.languages) })
      context.report('origin_refused')
      return httpError('forbidden_origin')
    }
  return {
    path: `${ports.urls.basePath}/oauth/app`,
    cors: (request) =>
      request.headers.get('origin') === origin ? { kind: 'origin', origin } : { kind: 'none' },
    methods: { GET: handle(describe), POST: handle(answer) },
  }
}

async function describe(visit: LoginVisit): Promise<Reply> {
  const sealed = new URL(visit.request.url).searchParams.get('request') ?? ''
  const { opened, found } = await openRequest(sealed, visit)
  return json(describeAppRequest(found, opened.expiresAt))
}

async function answer(visit: LoginVisit): Promise<Reply> {
  const parsed = answerSchema.safeParse(await readJson(visit.request))
  if (!parsed.success) {
    const description =
      'Send a JSON object with request, allow (true or false), and perhaps scope and workspace.'
    throw new OAuthError('invalid_request', description)
  }
  const { request: sealed, allow, ...choice } = parsed.data
  const { signIn } = visit.ports
  const { opened, found } = await openRequest(sealed, visit)
  const redirectTo = (): Promise<string> =>
    allow ? allowed(opened, choice, found) : Promise.resolve(denialUrl(sealed, signIn))
  try {
    const url = await answerOnce(opened, redirectTo, signIn)
    if (url !== 'answered') return json({ redirect_to: url })
    throw new OAuthError('invalid_request', 'This request was answered already. Connect again in the client.')
  } catch (error) {
    return refusal(error, found)
  }
}

/** Opens a request, and finds its client. Throws `invalid_request`. */
async function openRequest(
  sealed: string,
  visit: LoginVisit,
): Promise<{ opened: OpenAppRequest; found: SignInVisit }> {
  const opened = readAppRequest(sealed, visit.ports.signIn)
  if (opened.kind !== 'open') {
    const description = {
      expired: 'This request is over ten minutes old. Connect again in the client.',
      invalid: 'This request is not one of this server. Send the parameter request of the page as it came.',
    }[opened.kind]
    throw new OAuthError('invalid_request', description)
  }
  // The browser is not here: it proves itself when it returns.
  const visitor = { binding: '', address: visit.context.address, knownAccounts: [] }
  const found = await findSignIn(opened.value.purpose, visitor, visit)
  if (found) return { opened, found }
  throw new OAuthError('invalid_request', 'The client of this request is no longer registered.')
}

function allowed(
  opened: OpenAppRequest,
  { scope, workspace: workspaceId }: Pick<z.output<typeof answerSchema>, 'scope' | 'workspace'>,
  { request, ports }: SignInVisit,
): Promise<string> {
  const [, proof = ''] = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? []
  if (proof === '') throw new ProviderError('invalid_token', 'There is no bearer token.')
  const { workspaces } = ports.changes
  return allowInApp(opened, { proof, scope, workspaceId }, { ...ports.signIn, workspaces })
}

/** Failures after which the same answer can be sent again. */
const passing: ReadonlySet<ProviderFailure> = new Set(['transient', 'rate_limited'])

/** Says why an answer was not taken, in the language of the sign-in. */
function refusal(error: unknown, { subject, context, language }: SignInVisit): Reply {
  const { texts } = language
  if (error instanceof AppAnswerRefused) {
    const { reason, workspaces } = error
    if ((reason === 'scope' || reason === 'workspace') && subject.kind !== 'account')
      context.report('choice_refused', { client_id: clientIdOf(subject), field: reason })
    if (reason === 'workspaces_unavailable') return failed('transient', texts.failures[reason], 503)
    if (reason === 'workspace_required') return failed(reason, texts.workspace.heading, 400, { workspaces })
    return failed(`invalid_${reason}`, texts.errors.choice_refused.message, 400)
  }
  if (error instanceof OAuthError) return oauthFailure(error)
  if (!(error instanceof ProviderError)) throw error
  const failure = provenAccountFailure(error)
  context.report('sign_in_failed', { failure: failure.reason, message: error.message })
  const description = failureText(failure, language)
  if (passing.has(error.failure)) return failed('transient', description, 503, {}, error.retryAfterSeconds)
  if (error.failure !== 'invalid_token') return failed(failure.reason, description, 403)
  return failed('invalid_token', texts.appSignIn.notProven, 401)
}

function failed(error: string, description: string, status: number, more: object = {}, wait?: number): Reply {
  return json({ error, error_description: description, ...more }, status, {
    ...retryHeaders(status, wait),
    ...(status === 401 && { 'www-authenticate': 'Bearer error="invalid_token"' }),
  })
}
