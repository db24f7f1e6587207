import { listen } from '../../server/http/listener/listener.ts'
import { company } from '../../server/sandbox/provider/social/stand-in.ts'
import { createMailRoutes } from '../../server/sandbox/app/mail-routes.ts'
import { createShowPage } from '../../server/sandbox/app/page.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import { type ControlledProvider, createControlledProvider } from '../support/sandbox/controlled-provider.ts'
import { type Mailbox, openMailPage, openMailSink } from './mailbox.ts'
import { startPrefixProxy } from './prefix-proxy.ts'

/** Redirect address of the social provider. No program listens there; a loopback address is always allowed. */
export const callbackUrl = 'http://127.0.0.1:4712/callback'

/** Controls of the embedded provider that others lack. */
interface Levers {
  /** Makes `/token` answer 429, or stops that. */
  limitTokens(on: boolean): void
  /** Requires `secret` as the captcha token of a password, or stops that. */
  askForCaptcha(secret: string | undefined): void
  closeReuseInterval(): void
  /** Puts its clock ahead by `seconds` of what it is. */
  putAhead(seconds: number): void
}

/** A server checked against the contract. */
export interface OpenTarget {
  /** Auth base URL without trailing slash. */
  authUrl: string
  /** URL for clients that append `/auth/v1`. */
  projectUrl: string
  apiKey: string
  serviceKey: string | undefined
  jwtSecret: string | undefined
  socialProvider: string
  /** A domain with single sign-on whose identity provider answers without a human; undefined: none is known. */
  ssoDomain: string | undefined
  levers: Levers | undefined
  /** Returns a client of its OAuth server that returns to {@link callbackUrl}, or the reason why there is none. */
  openClient(): Promise<{ id: string; secret: string } | string>
  /** Opens where its mails arrive; returns the reason if it cannot. */
  openMailbox(): Promise<Mailbox | string>
  close(): Promise<void>
}

/** A server that can be opened. */
export interface Target {
  name: string
  open(): Promise<OpenTarget>
}

const given = process.env

/** The server of `GOTRUE_URL`, or else the embedded provider in its two most different variants. */
export const targets: readonly Target[] = given['GOTRUE_URL']
  ? [{ name: new URL(given['GOTRUE_URL']).host, open: () => openGiven(given['GOTRUE_URL'] ?? '') }]
  : [
      {
        name: 'embedded: ES256, below /auth/v1',
        open: () => openEmbedded('/auth/v1'),
      },
      {
        name: 'embedded: HS256, no reuse interval, at the root',
        open: () =>
          openEmbedded(
            '',
            ({ admin }) => {
              admin.setAlgorithm('HS256')
              admin.setReuseInterval(0)
            },
            'keycloak',
          ),
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
    ssoDomain: given['GOTRUE_SSO_DOMAIN'] || undefined,
    levers: undefined,
    openClient: () => registerClient(authUrl),
    openMailbox: async () => {
      const port = given['GOTRUE_MAIL_PORT']
      return port ? openMailSink(Number(port)) : 'GOTRUE_MAIL_PORT is not set'
    },
  }
}

/** As an operator does in the dashboard of a project. */
async function registerClient(authUrl: string): Promise<{ id: string; secret: string } | string> {
  const key = given['GOTRUE_SERVICE_KEY']
  if (!key) return 'GOTRUE_SERVICE_KEY is not set'
  const response = await fetch(`${authUrl}/admin/oauth/clients`, {
    method: 'POST',
    headers: { apikey: key, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Drawbridge',
      redirect_uris: [callbackUrl],
      client_type: 'confidential',
    }),
  })
  if (response.status !== 201) return `its OAuth server registers no client: ${response.status}`
  const { client_id: id, client_secret: secret } = (await response.json()) as Record<string, string>
  return { id: String(id), secret: String(secret) }
}

const embeddedClient = { id: '0c1d2e3f-0000-4000-8000-00000000c11e', secret: 'client-secret' }

async function openEmbedded(
  path: string,
  prepare: (provider: ControlledProvider) => void = () => {},
  socialProvider = 'google',
): Promise<OpenTarget> {
  let serve: (request: Request) => Response | Promise<Response> = () =>
    new Response('Not yet.', { status: 503 })
  let aheadSeconds = 0
  const listener = await listen(async (request) => serve(request), { host: '127.0.0.1', port: 0 })
  const siteUrl = `http://127.0.0.1:${listener.port}`
  const authUrl = `${siteUrl}${path}`
  const oauthClient = { ...embeddedClient, redirectUri: callbackUrl }
  const common = { siteUrl, redirectAllowList: [], tokenTtlSeconds: 3600, database: ':memory:', oauthClient }
  const socialProviders = ['google', 'keycloak', 'azure']
  const runtime = { ...systemRuntime, now: () => systemRuntime.now() + aheadSeconds }
  const embedded = createControlledProvider({ ...common, socialProviders, url: authUrl }, runtime)
  const show = createShowPage({ mcpOrigin: siteUrl, now: runtime.now })
  const mailPage = createMailRoutes(embedded.services, show)
  serve = (request) => (new URL(request.url).pathname === '/mail' ? mailPage : embedded).fetch(request)
  prepare(embedded)
  const { admin } = embedded
  // Lets the cases sign up.
  admin.setConfirmation('off')
  const project = await projectOf(authUrl)
  return {
    projectUrl: project.projectUrl,
    authUrl,
    apiKey: 'sb_publishable_contract',
    serviceKey: await admin.serviceKey(),
    jwtSecret: admin.jwtSecret,
    socialProvider,
    ssoDomain: company.domain,
    levers: {
      limitTokens: (limitTokens) => admin.setFaults({ limitTokens }),
      askForCaptcha: (secret) => admin.setCaptcha(secret === undefined ? {} : { secret }),
      closeReuseInterval: () => admin.setReuseInterval(0),
      putAhead: (seconds) => void (aheadSeconds = seconds),
    },
    openClient: async () => embeddedClient,
    openMailbox: async () => openMailPage(`${siteUrl}/mail`),
    async close() {
      await project.close()
      await listener.close()
      embedded.close()
    },
  }
}

/** supabase-js appends `/auth/v1` to its URL: an auth API at another path gets a proxy. */
async function projectOf(authUrl: string): Promise<Pick<OpenTarget, 'projectUrl' | 'close'>> {
  const projectUrl = /^(.*)\/auth\/v1$/.exec(authUrl)?.[1]
  return projectUrl === undefined ? startPrefixProxy(authUrl) : { projectUrl, close: async () => {} }
}
