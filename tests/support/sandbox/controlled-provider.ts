import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError, renderAuthError } from '../../../server/sandbox/provider/auth-error.ts'
import type { AuthServices, EmbeddedProviderConfig } from '../../../server/sandbox/provider/auth-services.ts'
import {
  createEmbeddedProvider,
  type EmbeddedProvider,
} from '../../../server/sandbox/provider/embedded-provider.ts'
import { createAdminApi, isAdmin } from './admin-api.ts'
import { createFaults } from './faults.ts'
import { createProviderAdmin, type ProviderAdmin, type ProviderControls } from './provider-admin.ts'
import { createProviderCounters, type ProviderCounters, type SignOutScope } from './provider-counters.ts'
import { brokenLimit, type SessionTimes } from './session-limits.ts'

/** The embedded provider with features for tests: an operator's API, counters, limits and faults. */
export interface ControlledProvider extends EmbeddedProvider {
  admin: ProviderAdmin
}

const captchaRoutes = new Set(['POST /signup', 'POST /otp', 'POST /sso'])

/** Starts the embedded provider under the control of a test. */
export function createControlledProvider(
  config: EmbeddedProviderConfig,
  runtime: Runtime,
): ControlledProvider {
  const provider = createEmbeddedProvider(config, runtime)
  const { services } = provider
  const controls: ProviderControls = {
    faults: createFaults(runtime),
    counters: createProviderCounters(),
    limits: {},
    captchaToken: undefined,
  }
  const base = new URL(services.config.url).pathname.replace(/\/$/, '')
  const adminApi = createAdminApi(services, `${base}/admin/users`)
  const activity = new Map<string, number>()
  const refresh = createRefreshControl(provider, controls, activity)

  async function answer(request: Request, route: string, query: URLSearchParams): Promise<Response> {
    if (route.includes('/admin/users')) return adminApi.fetch(request)
    const type = query.get('grant_type')
    count(controls.counters, route, type)
    if (captchaRoutes.has(route) || (route === 'POST /token' && type === 'password')) {
      await checkCaptcha(services, controls, request)
    }
    if (route === 'POST /token') controls.faults.checkRate()
    if (route === 'POST /token' && type === 'refresh_token') return refresh(request)
    const response = await provider.fetch(request)
    noteActivity(activity, response)
    if (route === 'POST /logout' && response.status === 204) {
      controls.counters.signOuts[(query.get('scope') || 'global') as SignOutScope]++
    }
    return response
  }

  return {
    ...provider,
    admin: createProviderAdmin(services, controls),
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      if (!pathname.startsWith(`${base}/`) || /^\/(?:google|company)\//.test(pathname))
        return provider.fetch(request)
      const path = pathname.slice(base.length)
      const failed = await controls.faults.before(path)
      if (failed) return failed
      try {
        return await answer(request, `${request.method} ${path}`, searchParams)
      } catch (error) {
        if (error instanceof AuthError) return renderAuthError(error, request)
        throw error
      }
    },
  }
}

function count(counters: ProviderCounters, route: string, type: string | null): void {
  if (route === 'POST /signup') counters.signup++
  if (route === 'GET /user') counters.user++
  if (route === 'POST /logout') counters.logout++
  if (route === 'GET /authorize') counters.authorize++
  if (route === 'GET /.well-known/jwks.json') counters.jwks++
  if (route === 'POST /token' && type !== null && Object.hasOwn(counters.token, type)) {
    counters.token[type as keyof ProviderCounters['token']]++
  }
}

/** Rejects a request without the required captcha token. Operators' requests need none. */
async function checkCaptcha(
  services: AuthServices,
  { captchaToken }: ProviderControls,
  request: Request,
): Promise<void> {
  if (captchaToken === undefined) return
  const body = await membersOf(request)
  const given = (body['gotrue_meta_security'] as Record<string, unknown> | undefined)?.['captcha_token']
  if (given === captchaToken || (await isAdmin(services, request))) return
  const reason =
    typeof given === 'string' && given !== '' ? 'invalid-input-response' : 'no captcha_token found'
  throw new AuthError(400, 'captcha_failed', `captcha protection: request disallowed (${reason})`)
}

/** Refreshes within the limits of sessions; counts the outcomes, and drops the replies that should be lost. */
function createRefreshControl(
  { fetch, services }: EmbeddedProvider,
  controls: ProviderControls,
  activity: Map<string, number>,
): (request: Request) => Promise<Response> {
  const { database, runtime, sessions } = services
  const revoked = new Set<string>()

  function presentedSession(token: unknown): string | undefined {
    try {
      return sessions.present(String(token)).session.id
    } catch {
      return undefined
    }
  }

  function checkLimits(id: string): void {
    const sql = `SELECT id, created_at, refreshed_at FROM session
      WHERE account_id = (SELECT account_id FROM session WHERE id = ?)`
    const all = database
      .all<SessionTimes & { id: string }>(sql, id)
      .map((row) => Object.assign(row, { activity: activity.get(row.id) ?? 0 }))
    const others = all.filter((row) => row.id !== id)
    const broken = brokenLimit(
      all.find((row) => row.id === id)!,
      others,
      controls.limits,
      runtime.now(),
    )
    if (broken !== undefined) {
      throw new AuthError(400, 'session_expired', `Invalid Refresh Token: ${broken}`)
    }
  }

  return async (request) => {
    const { refresh_token: token } = await membersOf(request)
    const session = presentedSession(token)
    if (session !== undefined) checkLimits(session)
    const response = await fetch(request)
    noteActivity(activity, response)
    if (response.headers.get('x-sb-error-code') === 'refresh_token_already_used' && session !== undefined) {
      if (!revoked.has(session)) controls.counters.reuseRevocations++
      revoked.add(session)
    }
    if (response.status !== 200) return response
    if (response.headers.get('sb-auth-refresh-token-reuse') === 'false') controls.counters.rotations++
    controls.faults.afterRotation()
    return response
  }
}

/** Records which session was signed in or refreshed last. */
function noteActivity(activity: Map<string, number>, response: Response): void {
  const id = response.headers.get('sb-auth-session-id')
  if (response.status === 200 && id !== null) activity.set(id, Math.max(0, ...activity.values()) + 1)
}

async function membersOf(request: Request): Promise<Record<string, unknown>> {
  try {
    return (await request.clone().json()) as Record<string, unknown>
  } catch {
    return {}
  }
}
