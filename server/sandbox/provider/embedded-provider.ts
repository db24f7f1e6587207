import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { createAuthApi } from './api/auth-api.ts'
import { AuthError, renderAuthError } from './auth-error.ts'
import { AuthServices, type EmbeddedProviderConfig } from './auth-services.ts'
import { createEmailApi } from './api/email-api.ts'
import { createFactorApi } from './api/factor-api.ts'
import { createOAuthApi } from './api/oauth-api.ts'
import { createSocialApi } from './api/social-api.ts'
import { company, createStandIn, google, type Played, type StandIn } from './social/stand-in.ts'

const MAX_BODY_BYTES = 64 * 1024

export interface EmbeddedProvider {
  /** Serves everything below the configured URL, and below `/google` and `/company` of the same origin; 404 for the rest. */
  fetch(request: Request): Promise<Response>
  /** Closes the database; everything before the last response is on disk. */
  close(): void
  services: AuthServices
}

/**
 * Creates a local, persistent session provider that speaks the Supabase Auth API, with a fake Google and a fake company. For development
 * on one machine: its accounts are confirmed without a mail and its Google asks for no password. The rules of the settings refuse
 * addresses that others reach. Logs nothing.
 */
export function createEmbeddedProvider(config: EmbeddedProviderConfig, runtime: Runtime): EmbeddedProvider {
  const services = new AuthServices(config, runtime)
  const { origin, pathname } = new URL(services.config.url)
  const standInAt = (url: string, played: Played, callback: string): StandIn =>
    createStandIn(played, { url, callbackUrl: services.config.url + callback })
  const standIn = {
    google: standInAt(`${origin}/google`, google, '/callback'),
    company: standInAt(`${origin}/company`, company, '/sso/saml/acs'),
  }

  const api = new Hono()
  api.route('/', createAuthApi(services))
  api.route('/factors', createFactorApi(services))
  api.route('/oauth', createOAuthApi(services))
  api.route('/', createSocialApi(services, standIn))
  api.route('/', createEmailApi(services))

  const root = new Hono()
  root.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (c) => {
        const message = `Request body exceeds ${MAX_BODY_BYTES} bytes`
        return renderAuthError(new AuthError(413, 'validation_failed', message), c.req.raw)
      },
    }),
  )
  root.route(pathname, api)
  root.route('/google', standIn.google.routes)
  root.route('/company', standIn.company.routes)
  root.notFound((c) => c.text('404 page not found\n', 404))
  root.onError((error, c) => {
    if (error instanceof AuthError) return renderAuthError(error, c.req.raw)
    return renderAuthError(new AuthError(500, 'unexpected_failure', 'Unexpected failure'), c.req.raw)
  })

  return {
    fetch: async (request) => root.fetch(request),
    close: () => services.database.close(),
    services,
  }
}
