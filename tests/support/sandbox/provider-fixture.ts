import { createWebApp } from '../../../server/sandbox/app/web-app.ts'
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { createFakeRuntime, type FakeRuntime } from '../server/fake-runtime.ts'
import type { EmbeddedProviderConfig } from '../../../server/sandbox/provider/auth-services.ts'
import { type ControlledProvider, createControlledProvider } from './controlled-provider.ts'

/** Apparent origin of the tests' provider. */
export const SITE = 'http://localhost:8788'

/** Base URL of its auth API. */
export const AUTH: string = `${SITE}/auth/v1`

/** A provider under test. */
export interface ProviderFixture extends ControlledProvider {
  runtime: FakeRuntime
  /** Creates an unmodified client with its own memory, whose network is the provider. */
  client: () => SupabaseClient
  /** Sends a JSON request to the auth API in the dialect of current clients. */
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>
}

/** Starts a provider in memory, or in the given file. */
export function startProvider(
  overrides: Partial<EmbeddedProviderConfig> = {},
  runtime: FakeRuntime = createFakeRuntime(),
): ProviderFixture {
  const config = {
    url: AUTH,
    siteUrl: SITE,
    redirectAllowList: [],
    tokenTtlSeconds: 3600,
    database: ':memory:',
  }
  const provider = createControlledProvider({ ...config, ...overrides }, runtime)
  return {
    ...provider,
    runtime,
    client: () =>
      createClient(SITE, 'sb_publishable_test', {
        auth: { persistSession: false, autoRefreshToken: false, flowType: 'pkce' },
        global: { fetch: (input, init) => provider.fetch(new Request(input, init)) },
      }),
    call: (method, path, body, headers = {}) =>
      provider.fetch(
        new Request(`${AUTH}${path}`, {
          method,
          headers: {
            'content-type': 'application/json;charset=UTF-8',
            'x-supabase-api-version': '2024-01-01',
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
  }
}

/**
 * Takes a browser from `/authorize` through the stand-in for Google, clicking the button; returns the last redirect.
 */
export async function walkGoogle(
  provider: Pick<ControlledProvider, 'fetch'>,
  authorizeUrl: string,
  button: string,
): Promise<URL> {
  const toGoogle = await provider.fetch(new Request(authorizeUrl))
  return chooseAt(provider, toGoogle.headers.get('location') ?? '', button)
}

/** Clicks the button on the page of a stand-in; returns the last redirect. */
export async function chooseAt(
  provider: Pick<ControlledProvider, 'fetch'>,
  pageUrl: string,
  button: string,
): Promise<URL> {
  const page = await provider.fetch(new Request(pageUrl))
  const markup = await page.text()
  const attribute = (pattern: RegExp): string => pattern.exec(markup)?.[1] ?? ''
  const label = new RegExp(`<button[^>]*value="([^"]*)"[^>]*>(?:(?!</button>).)*${button}`, 's')
  const chosen = await provider.fetch(
    new Request(attribute(/<form[^>]*action="([^"]*)"/), {
      method: 'POST',
      body: new URLSearchParams({
        state: attribute(/name="state" value="([^"]*)"/),
        account: attribute(label),
      }),
    }),
  )
  const callback = await provider.fetch(new Request(chosen.headers.get('location') ?? ''))
  return new URL(callback.headers.get('location') ?? '')
}

/** Returns the web app of {@link SITE} in front of `provider`, with a database in memory. */
export function openWebApp(provider: ProviderFixture): ReturnType<typeof createWebApp> {
  return createWebApp(
    {
      appUrl: SITE,
      cookieName: 'sb-localhost-auth-token',
      baseUrl: 'http://localhost:8787',
    },
    provider.services,
  )
}
