import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError, renderAuthError } from '../../../server/sandbox/provider/auth-error.ts'
import type { EmbeddedProviderConfig } from '../../../server/sandbox/provider/auth-services.ts'
import {
  createEmbeddedProvider,
  type EmbeddedProvider,
} from '../../../server/sandbox/provider/embedded-provider.ts'
import { createAdminApi } from './admin-api.ts'
import { createFaults } from './faults.ts'
import {
  createProviderAdmin,
  createProviderCounters,
  type ProviderAdmin,
  type ProviderControls,
  type ProviderCounters,
} from './provider-admin.ts'

/** The embedded provider with features for tests: an operator's API, counters and faults. */
export interface ControlledProvider extends EmbeddedProvider {
  admin: ProviderAdmin
}

const captchaRoutes = new Set(['POST /signup', 'POST /otp', 'POST /sso', 'POST /token password'])

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
    captchaToken: undefined,
  }
  const base = new URL(services.config.url).pathname.replace(/\/$/, '')
  const adminApi = createAdminApi(services, `${base}/admin/users`)

  /** `route` has the method, the path below the base, and for `/token` the grant type. */
  async function answer(request: Request, route: string, query: URLSearchParams): Promise<Response> {
    const { counters, faults } = controls
    if (route.includes('/admin/users')) return adminApi.fetch(request)
    const [, grantType] = /^POST \/token (\w+)$/.exec(route) ?? []
    if (grantType !== undefined && grantType in counters.token) {
      counters.token[grantType as keyof ProviderCounters['token']]++
    }
    if (captchaRoutes.has(route)) await checkCaptcha(controls, request)
    if (grantType !== undefined) faults.checkRate()
    const response = await provider.fetch(request)
    if (grantType === 'refresh_token') countRefresh(counters, response)
    if (route.startsWith('POST /logout') && response.status === 204) {
      counters.signOuts[(query.get('scope') || 'global') as keyof ProviderCounters['signOuts']]++
    }
    if (grantType === 'refresh_token' && response.ok) faults.afterRotation()
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
      const route = [request.method, path, searchParams.get('grant_type') ?? []].flat().join(' ')
      try {
        return await answer(request, route, searchParams)
      } catch (error) {
        if (error instanceof AuthError) return renderAuthError(error, request)
        throw error
      }
    },
  }
}

/** Rejects a request without the required captcha token. */
async function checkCaptcha({ captchaToken }: ProviderControls, request: Request): Promise<void> {
  if (captchaToken === undefined) return
  const body = (await request.clone().json()) as { gotrue_meta_security?: { captcha_token?: unknown } }
  const given = body.gotrue_meta_security?.captcha_token
  if (given === captchaToken) return
  throw new AuthError(400, 'captcha_failed', 'captcha protection: request disallowed')
}

function countRefresh(counters: ProviderCounters, { headers }: Response): void {
  if (headers.get('x-sb-error-code') === 'refresh_token_already_used') counters.reuseRevocations++
  if (headers.get('sb-auth-refresh-token-reuse') === 'false') counters.rotations++
}
