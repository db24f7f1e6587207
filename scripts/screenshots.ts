// Takes screenshots of every page of the running product in headless Chromium:
// screenshots/NAME-{light,dark,narrow}.png.
import { mkdtempSync, rmSync, cpSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'
import { createApp } from '../server/startup/app.ts'
import { createSandbox } from '../server/sandbox/sandbox.ts'
import {
  type ControlledProvider,
  createControlledProvider,
} from '../tests/support/sandbox/controlled-provider.ts'
import type { ProviderAdmin } from '../tests/support/sandbox/provider-admin.ts'
import { createConfig } from '../server/config/config.ts'
import type { Captcha } from '../server/core/session/session-provider.ts'
import { listen } from '../server/http/listener/listener.ts'
import { captchaSamples } from '../tests/support/pages/view-sample.ts'
import { standInForCaptcha } from '../tests/support/pages/stand-in-captcha.ts'
import { registerPlainClient } from '../tests/e2e/plain-client.ts'
import type { FetchHandler } from '../server/http/endpoint.ts'
import { createLog } from '../server/observability/log.ts'
import { serveModule } from '../server/startup/open-tools.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'
import { findChromium, withChromium } from '../tests/support/server/headless-chromium.ts'
import {
  addGrant,
  grantSample,
  rotationTerms,
  successorSample,
} from '../tests/support/server/core/grant-sample.ts'
import { createLoginFixture, type LoginFixture } from '../tests/support/server/login-fixture.ts'
import { providerSample, publicClient, signedIn } from '../tests/support/server/core/sign-in-sample.ts'

const appearances = [
  { name: 'light', width: 1280, height: 860, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: 'narrow', width: 320, height: 640, colorScheme: 'light' },
] as const

const account = { email: 'ada@example.com', password: 'correct horse battery' }
const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback'

// The pages show these addresses, so use those that readers have.
const baseUrl = 'http://localhost:8787'
const appUrl = 'http://localhost:8788'

/** Takes a screenshot of `page` as it is, into `folder`. */
async function picture(page: Page, folder: string, name: string): Promise<void> {
  for (const { name: appearance, width, height, colorScheme } of appearances) {
    await page.setViewport({ width, height, deviceScaleFactor: 1 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: colorScheme }])
    if (await page.$('iframe')) {
      // A widget picks its colours when it loads, and is not painted until it has been visible.
      await page.reload()
      await page.$eval('iframe', (frame) => frame.scrollIntoView())
    }
    // Changing the colour scheme starts transitions of every colour; some cancel others.
    await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))')
    await page.screenshot({ path: join(folder, `${name}-${appearance}.png`), fullPage: true })
  }
  console.log(name)
}

function submit(page: Page, selector: string): Promise<unknown> {
  return Promise.all([page.waitForNavigation(), page.click(selector)])
}

async function signIn(page: Page): Promise<void> {
  await page.type('input[name=email]', account.email)
  await page.type('input[name=password]', account.password)
  await submit(page, 'form:has(input[name=password]) button')
}

async function pictureWebApp(page: Page, folder: string): Promise<void> {
  await page.goto(appUrl)
  await picture(page, folder, 'app-sign-in')
  await submit(page, 'form[action="/sign-in/google"] button')
  await picture(page, folder, 'app-google')
  await page.goto(`${appUrl}/sign-up`)
  await picture(page, folder, 'app-sign-up')
  await page.type('input[name=email]', account.email)
  await page.type('input[name=password]', account.password)
  await submit(page, 'form[action="/sign-up"] button')
  for (const text of ['The third arch needs a second look.', 'Ask the assistant to summarise last week.']) {
    await page.type('textarea[name=text]', text)
    await submit(page, 'form[action="/notes"] button')
  }
  await page.goto(`${appUrl}/notes`)
  await picture(page, folder, 'app-notes')
  await fetch(`${appUrl}/auth/v1/otp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: account.email, create_user: false }),
  })
  await page.goto(`${appUrl}/mail`)
  await picture(page, folder, 'app-mail')
}

/** Registers a client and returns the address of its login page. */
async function loginUrl(
  name: string,
  redirectUri: string,
  changes: Record<string, string> = {},
): Promise<string> {
  const server = { baseUrl, appUrl, mcpUrl: `${baseUrl}/mcp`, fetch }
  const { authorizationUrl } = await registerPlainClient(server, name, redirectUri)
  for (const [parameter, value] of Object.entries(changes))
    authorizationUrl.searchParams.set(parameter, value)
  return authorizationUrl.href
}

async function pictureServer(page: Page, folder: string): Promise<void> {
  await page.goto(await loginUrl('Claude Code', 'http://localhost:41123/callback'))
  await picture(page, folder, 'login')
  await page.type('input[name=email]', account.email)
  await page.type('input[name=password]', 'not the password')
  await submit(page, 'form:has(input[name=password]) button')
  await picture(page, folder, 'login-error')
  await page.goto(await loginUrl('Claude', 'https://claude.ai/api/mcp/auth_callback'))
  await picture(page, folder, 'login-web-client')
  await page.goto(
    await loginUrl('Quill', 'http://127.0.0.1/cb', { redirect_uri: 'https://quill.example/cb' }),
  )
  await picture(page, folder, 'error')
  await page.goto(await loginUrl('Quill', 'https://quill.example/cb', { response_type: 'token' }))
  await picture(page, folder, 'request-refused')
  await page.goto(await loginUrl('Cursor', cursor))
  await signIn(page)
  await picture(page, folder, 'finished')
  await page.goto(`${baseUrl}/nothing-here`)
  await picture(page, folder, 'nothing-here')
}

async function pictureConnect(page: Page, folder: string): Promise<void> {
  await page.goto(`${baseUrl}/mcp`)
  await picture(page, folder, 'connect')
  await page.click('.client:nth-of-type(3) summary')
  await picture(page, folder, 'connect-client')
}

async function pictureSecondFactor(page: Page, folder: string, admin?: ProviderAdmin): Promise<void> {
  const signInAnew = async (): Promise<void> => {
    admin?.enrollTotp(admin.findUser(account.email)?.id ?? '')
    await page.goto(await loginUrl('Claude Code', 'http://localhost:41123/callback'))
    await signIn(page)
  }
  await signInAnew()
  await picture(page, folder, 'second-factor')
  await page.type('input[name=code]', '000000')
  await submit(page, 'form:has(input[name=code]) button')
  await picture(page, folder, 'second-factor-error')
  await signInAnew()
  await picture(page, folder, 'second-factor-several')
}

async function pictureOtherProviders(page: Page, folder: string, serve: Serve): Promise<void> {
  const social = [{ id: 'google', label: 'Google' }]
  const show = async (name: string, password: boolean, captcha: Captcha | undefined): Promise<void> => {
    const provider = providerSample({
      capabilities: async () => ({ password, social, captcha, confirmsEmail: true }),
      passwordSignIn: () => Promise.reject(new Error('No user signs in for a screenshot.')),
    })
    const { fetch, authorizeUrl } = await createLoginFixture(provider, { baseUrl })
    serve(fetch)
    await page.goto(authorizeUrl().href)
    await picture(page, folder, name)
  }
  await show('login-one-button', false, undefined)
  await standInForCaptcha(page)
  await show('login-captcha', true, captchaSamples.turnstile)
}

const ada = { id: 'https://provider#sub ada', sub: 'sub ada', email: account.email, name: undefined }

/** Signs in as ada with any password, and ends every session silently. */
const anyPassword = providerSample({
  passwordSignIn: async () => signedIn(),
  signOut: async () => undefined,
})

async function pictureDevice(page: Page, folder: string, serve: Serve): Promise<void> {
  const { fetch, startDevice, runtime } = await createLoginFixture(anyPassword, { baseUrl })
  serve(fetch)
  await page.goto(`${baseUrl}/oauth/device`)
  await picture(page, folder, 'device')
  await page.type('input[name=user_code]', 'wdjbmjht')
  await submit(page, 'form button')
  await picture(page, folder, 'device-error')
  const { verification_uri_complete: link } = await startDevice('203.0.113.7')
  runtime.advance(120)
  await page.goto(link)
  await picture(page, folder, 'device-link')
  await submit(page, 'form button')
  await picture(page, folder, 'device-confirm')
  await signIn(page)
  await picture(page, folder, 'device-done')
}

async function pictureConnections(page: Page, folder: string, serve: Serve): Promise<void> {
  const { fetch, shared, runtime } = await createLoginFixture(anyPassword, { baseUrl })
  const { store } = shared
  serve(fetch)
  await page.goto(`${baseUrl}/account/connections`)
  await picture(page, folder, 'connections-sign-in')
  await signIn(page)
  await picture(page, folder, 'connections-empty')
  const clients = [
    publicClient({
      id: 'https://claude.ai/oauth/client.json',
      kind: 'metadata_document',
      name: 'Claude',
      redirectUris: ['https://claude.ai/api/mcp/auth_callback'],
    }),
    publicClient({ id: 'code', name: 'Claude Code' }),
    publicClient({ id: 'device', name: 'Build server', redirectUris: [] }),
  ]
  for (const [index, client] of clients.entries()) {
    await store.putClient(client)
    const { grant } = await addGrant(store, grantSample(client.id, { user: ada, clientId: client.id }))
    const usedAt = runtime.now() + index * 400
    const address = `203.0.113.${index + 7}`
    await store.recordGrantUses([{ grantId: grant.id, usedAt, address, tool: 'list_notes' }])
  }
  runtime.advance(900)
  await page.reload()
  await picture(page, folder, 'connections')
  await page.click('.end-one summary')
  await picture(page, folder, 'connections-end-one')
  await page.click('.end-all summary')
  await picture(page, folder, 'connections-end-all')
  await pictureWaiting(page, folder, { store, runtime })
  await store.endGrant('grant code', 'refresh_token_reuse', runtime.now())
  await store.endGrant('grant device', 'provider_session_ended', runtime.now())
  await page.reload()
  await picture(page, folder, 'connections-notices')
  await page.click('.end-one summary')
  await submit(page, 'button[value=end]')
  await picture(page, folder, 'connections-ended')
  await submit(page, 'button[value=sign_out]')
  await picture(page, folder, 'connections-signed-out')
}

async function pictureWaiting(
  page: Page,
  folder: string,
  { store, runtime }: Pick<LoginFixture['shared'], 'store' | 'runtime'>,
): Promise<void> {
  const now = runtime.now()
  for (const clientId of ['device', 'code']) {
    const { code, session } = grantSample(`waiting ${clientId}`, { user: ada, clientId, createdAt: now - 30 })
    const codeChallenge = clientId === 'device' ? '' : code.codeChallenge
    await store.addAuthorizationCode({ ...code, codeChallenge, expiresAt: now + 90 }, session)
  }
  for (const address of ['203.0.113.8', '198.51.100.23']) {
    await store.rotateRefreshToken(
      'refresh code 1',
      successorSample('code 2'),
      rotationTerms(now, { address }),
    )
  }
  const twoAddresses = { addresses: ['203.0.113.8', '198.51.100.23'], at: now - 7200 } as const
  const use = { usedAt: now, address: '203.0.113.8', twoAddresses }
  await store.recordGrantUses([{ grantId: 'grant code', ...use }])
  await page.reload()
  await picture(page, folder, 'connections-waiting')
  runtime.advance(120)
}

/** Makes BASE_URL answer with another server from now on. */
type Serve = (fetch: FetchHandler) => void

async function pictureAll(executablePath: string, folder: string): Promise<void> {
  const config = createConfig({ store: 'memory:', baseUrl, appUrl }, { production: false })
  let provider: ControlledProvider | undefined
  const app = createApp(
    config,
    systemRuntime,
    createLog('silent', process.stderr),
    serveModule(config),
    async (...given) =>
      createSandbox(...given, (...wanted) => (provider = createControlledProvider(...wanted))),
  )
  let serving = app.fetch
  const listeners = []
  try {
    listeners.push(await listen((request) => serving(request), { host: '127.0.0.1', port: 8787 }))
    if (app.sandbox) listeners.push(await listen(app.sandbox.fetch, { host: '127.0.0.1', port: 8788 }))
    await withChromium(executablePath, async (browser) => {
      await pictureWebApp(await browser.newPage(), folder)
      // It ends on another program's address, and Chromium's prompt about that would swallow the next clicks.
      await pictureServer(await browser.newPage(), folder)
      await pictureConnect(await browser.newPage(), folder)
      await pictureSecondFactor(await browser.newPage(), folder, provider?.admin)
      const serve: Serve = (fetch) => {
        serving = fetch
      }
      await pictureDevice(await browser.newPage(), folder, serve)
      await pictureConnections(await browser.newPage(), folder, serve)
      await pictureOtherProviders(await browser.newPage(), folder, serve)
    })
  } finally {
    await Promise.all(listeners.map((listener) => listener.close()))
    await app.close()
  }
}

const chromium = findChromium()
if (chromium === undefined) {
  process.exitCode = 1
} else {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-screenshots-'))
  try {
    await pictureAll(chromium, folder)
    // Replace the old set only with a complete one.
    const target = fileURLToPath(new URL('../screenshots/', import.meta.url))
    rmSync(target, { recursive: true, force: true })
    cpSync(folder, target, { recursive: true })
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    console.error(taken ? 'Ports 8787 and 8788 are in use. Stop npm start first.' : error)
    process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
