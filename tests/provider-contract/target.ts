import { listen } from '../../server/http/listener/listener.ts'
import type { EmbeddedProviderConfig } from '../../server/sandbox/provider/embedded-config.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import { type ControlledProvider, createControlledProvider } from '../support/sandbox/controlled-provider.ts'
import { startPrefixProxy } from './prefix-proxy.ts'

/** Where the social provider sends the browser back to. Nobody listens there; a loopback address is always allowed. */
export const callbackUrl = 'http://127.0.0.1:4712/callback'

/** What can be done to the embedded provider and to no other. */
export interface Levers {
  /** `/token` answers 429 from now on, or no more. */
  limitTokens(on: boolean): void
  /** A password needs `secret` as its captcha token from now on, or none. */
  askForCaptcha(secret: string | undefined): void
  closeReuseInterval(): void
}

/** A server that the contract is checked against. */
export interface OpenTarget {
  /** Auth base URL without trailing slash. */
  authUrl: string
  /** What is given to clients that append `/auth/v1`. */
  projectUrl: string
  apiKey: string
  serviceKey: string | undefined
  jwtSecret: string | undefined
  socialProvider: string
  levers: Levers | undefined
  close(): Promise<void>
}

/** A server that can be opened. */
export interface Target {
  name: string
  open(): Promise<OpenTarget>
}

const given = process.env

/** The server of `GOTRUE_URL`; without it the embedded provider, in the two shapes that differ most. */
export const targets: readonly Target[] = given['GOTRUE_URL']
  ? [{ name: new URL(given['GOTRUE_URL']).host, open: () => openGiven(given['GOTRUE_URL'] ?? '') }]
  : [
      {
        name: 'embedded: ES256, refresh tokens that name their session, below /auth/v1',
        open: () => openEmbedded('/auth/v1', {}),
      },
      {
        name: 'embedded: HS256, opaque refresh tokens, no reuse interval, at the root',
        open: () =>
          openEmbedded('', { refreshTokenVersion: 1 }, ({ admin }) => {
            admin.setAlgorithm('HS256')
            admin.setReuseInterval(0)
          }),
      },
    ]

async function openGiven(url: string): Promise<OpenTarget> {
  const authUrl = url.replace(/\/+$/, '')
  return {
    ...(await projectOf(authUrl)),
    authUrl,
    apiKey: given['GOTRUE_API_KEY'] || 'sb_publishable_none',
    serviceKey: given['GOTRUE_SERVICE_KEY'] || undefined,
    jwtSecret: given['GOTRUE_JWT_SECRET'] || undefined,
    socialProvider: given['GOTRUE_SOCIAL_PROVIDER'] || 'google',
    levers: undefined,
  }
}

async function openEmbedded(
  path: string,
  config: Pick<EmbeddedProviderConfig, 'refreshTokenVersion'>,
  prepare: (provider: ControlledProvider) => void = () => {},
): Promise<OpenTarget> {
  let provider: ControlledProvider | undefined
  const listener = await listen(
    async (request) => provider?.fetch(request) ?? new Response('Not yet.', { status: 503 }),
    { host: '127.0.0.1', port: 0 },
  )
  const siteUrl = `http://127.0.0.1:${listener.port}`
  const authUrl = `${siteUrl}${path}`
  const common = { siteUrl, redirectAllowList: [], tokenTtlSeconds: 3600, database: ':memory:' }
  const embedded = createControlledProvider({ ...common, ...config, url: authUrl }, systemRuntime)
  provider = embedded
  prepare(embedded)
  const { admin } = embedded
  const project = await projectOf(authUrl)
  return {
    projectUrl: project.projectUrl,
    authUrl,
    apiKey: 'sb_publishable_contract',
    serviceKey: await admin.serviceKey(),
    jwtSecret: admin.jwtSecret,
    socialProvider: 'google',
    levers: {
      limitTokens: (on) => admin.setFaults(on ? { rateLimit: { limit: 1, windowSeconds: 60 } } : {}),
      askForCaptcha: (secret) => admin.setCaptcha(secret === undefined ? {} : { secret }),
      closeReuseInterval: () => admin.setReuseInterval(0),
    },
    async close() {
      await project.close()
      await listener.close()
      embedded.close()
    },
  }
}

/** supabase-js appends `/auth/v1` to what it is given: an auth API that lives elsewhere gets a proxy. */
async function projectOf(authUrl: string): Promise<Pick<OpenTarget, 'projectUrl' | 'close'>> {
  const projectUrl = /^(.*)\/auth\/v1$/.exec(authUrl)?.[1]
  return projectUrl === undefined ? startPrefixProxy(authUrl) : { projectUrl, close: async () => {} }
}
