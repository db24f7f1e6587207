import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { z } from 'zod'
import {
  allowInApp,
  denyInApp,
  openAppRequest,
  type OpenAppRequest,
  proveInApp,
} from '../../core/sign-in/app-sign-in.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { readJson } from '../middleware/body.ts'
import { bearerOf } from '../middleware/caller.ts'
import { httpError, json, pageLanguage, retryHeaders } from '../response.ts'
import { describeAppRequest } from './app-request.ts'
import { LoginError } from './login-error.ts'
import { findSignIn, type LoginPorts, type LoginVisit, purposeOf, type SignInVisit } from './login-subject.ts'
import { takeScopes, wantedGrant } from './scope-form.ts'
import { failureText, reportedFailure, type SignInReason } from './sign-in-failure.ts'
import { findWorkspace } from './workspace-choice.ts'

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
  const opened = openAppRequest(new URL(visit.request.url).searchParams.get('request') ?? '', visit.ports)
  return json(describeAppRequest(await findAsked(opened, visit), opened.expiresAt))
}

async function answer(visit: LoginVisit): Promise<Reply> {
  const { success, data } = answerSchema.safeParse(await readJson(visit.request))
  if (!success) {
    const description =
      'Send a JSON object with request, allow (true or false), and perhaps scope and workspace.'
    throw new OAuthError('invalid_request', description)
  }
  const { ports } = visit
  const opened = openAppRequest(data.request, ports)
  const found = await findAsked(opened, visit)
  if (!data.allow) return json({ redirect_to: await denyInApp(opened, data.request, ports) })
  return allow(opened, data, found).catch((error: unknown) => refusal(error, found))
}

/** Finds the client of a request. Throws `invalid_request`. */
async function findAsked({ value: { purpose } }: OpenAppRequest, visit: LoginVisit): Promise<SignInVisit> {
  // The browser is not here: it proves itself when it returns.
  const visitor = { binding: '', address: visit.context.address, knownAccounts: [] }
  const found = await findSignIn(purpose, visitor, visit)
  if (found) return found
  throw new OAuthError('invalid_request', 'The client of this request is no longer registered.')
}

async function allow(
  opened: OpenAppRequest,
  { scope, workspace: posted }: z.output<typeof answerSchema>,
  asked: SignInVisit,
): Promise<Reply> {
  const { request, language, ports } = asked
  const scopes = scope?.split(' ').filter((name) => name !== '')
  const { subject } = takeScopes(scopes, true, asked)
  const proven = await proveInApp(opened, bearerOf(request), ports)
  // A personal token is for a workspace that is chosen on our own page.
  const wanted = subject.kind === 'account' ? undefined : wantedGrant(subject)
  const choice = wanted ? await findWorkspace(proven, wanted, posted, asked) : { workspace: undefined }
  if ('workspace' in choice) {
    const purpose = { ...purposeOf({ ...asked, subject }), workspaceId: choice.workspace?.id }
    return json({ redirect_to: await allowInApp(opened, purpose, proven, ports) })
  }
  const { workspace, failures } = language.texts
  return choice.workspaces
    ? failed('workspace_required', workspace.heading, 400, choice)
    : failed('transient', failures.workspaces_unavailable, 503)
}

/** The HTTP status of a failure, where it is not 403. After 503 the same answer can be sent again. */
const otherStatus: Readonly<Partial<Record<SignInReason, number>>> = {
  invalid_token: 401,
  rate_limited: 503,
  transient: 503,
}

/** Says why an answer was not taken, in the language of the sign-in. */
function refusal(error: unknown, { context, language }: SignInVisit): Reply {
  const { appSignIn, errors } = language.texts
  if (error instanceof LoginError && error.details.field !== undefined)
    return failed(`invalid_${error.details.field}`, errors.choice_refused.message, 400)
  const failure = reportedFailure(error, context)
  const { reason, retryAfterSeconds } = failure
  const status = otherStatus[reason] ?? 403
  const text = reason === 'invalid_token' ? appSignIn.notProven : failureText(failure, language)
  return failed(status === 503 ? 'transient' : reason, text, status, {}, retryAfterSeconds)
}

function failed(error: string, description: string, status: number, more: object = {}, wait?: number): Reply {
  return json({ error, error_description: description, ...more }, status, {
    ...retryHeaders(status, wait),
    ...(status === 401 && { 'www-authenticate': 'Bearer error="invalid_token"' }),
  })
}
