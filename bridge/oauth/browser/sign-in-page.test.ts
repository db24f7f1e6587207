import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import {
  type OAuthServer,
  type OAuthServerPlaces,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { visit } from '../../../tests/support/bridge/oauth/scripted-browser.ts'
import { beginTrial, type SignInTrial } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

const host = ({ origin }: OAuthServer): string => new URL(origin).host
const metadataPath = '/.well-known/oauth-authorization-server'

/** Starts a sign-in at `server`, whose login page is at `page` and whose codes are its own. */
async function sendToPage(server: OAuthServer, page: OAuthServer, path = '/authorize'): Promise<void> {
  server.metadata = { authorization_endpoint: `${page.origin}${path}` }
  page.answers.set(path, ({ query }) => ({
    status: 302,
    headers: { location: `${server.origin}/authorize?${query.toString()}` },
  }))
}

function begin(server: OAuthServer, changes: Partial<OAuthConfig> = {}, previous?: Credential): SignInTrial {
  return beginTrial(server.serverUrl, changes, previous === undefined ? {} : { previous })
}

async function signInAt(server: OAuthServer, previous?: Credential, changes: Partial<OAuthConfig> = {}) {
  const trial = begin(server, changes, previous)
  // The test wants to see whatever ends the sign-in before a prompt.
  const prompt = await Promise.race([trial.prompt, trial.done.then(() => undefined)])
  const arriving = visit(prompt?.url ?? '')
  const credential = await trial.done
  await arriving
  return { prompt, credential }
}

describe('a login page on another host', () => {
  it.each<[how: string, places: OAuthServerPlaces, path: string]>([
    ['', {}, '/authorize'],
    ['spelled otherwise', {}, '//Authorize/?a=b'],
    ['of an issuer with a path', { issuerPath: '/auth/v1' }, '/auth/v1/authorize'],
    [
      'of an issuer that has OpenID metadata',
      { issuerPath: '/realms/a', metadataPaths: ['/realms/a/.well-known/openid-configuration'] },
      '/realms/a/protocol/openid-connect/auth',
    ],
  ])('that is published under another issuer is refused, %s', async (_how, places, path) => {
    const [hostile, honest] = [await startOAuthServer(), await startOAuthServer(places)]
    honest.metadata = {
      authorization_endpoint: `${honest.origin}${path.replace('//Authorize/?a=b', '/authorize')}`,
    }
    hostile.metadata = {
      authorization_endpoint: `${honest.origin}${path}`,
      authorization_response_iss_parameter_supported: undefined,
    }
    honest.response = { iss: undefined }
    const trial = begin(hostile)
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({
      name: 'OAuthFailure',
      fault: 'issuer_mismatch',
      issuer: hostile.issuer,
      message: expect.stringContaining(`another one, "${honest.issuer}"`) as string,
    })
    expect(trial.prompts).toEqual([])
    expect(hostile.paths()).not.toContain('/register')
    expect(hostile.paths()).not.toContain('/token')
    expect(honest.paths().filter((asked) => !asked.includes('/.well-known/'))).toEqual([])
  })

  it('that names this issuer is as good as its own', async () => {
    const [server, page] = [await startOAuthServer(), await startOAuthServer()]
    await sendToPage(server, page)
    page.metadata = { issuer: server.issuer, authorization_endpoint: `${page.origin}/authorize` }
    const { prompt, credential } = await signInAt(server)
    expect(prompt).toHaveProperty('unconfirmed', undefined)
    expect(credential).toHaveProperty('acceptedPage', undefined)
  })

  describe('where the code is redeemed, too', () => {
    /** `server` names the endpoints of `page`; clients are registered at `registers`. */
    async function startAll(registers: 'server' | 'page', places: OAuthServerPlaces = {}) {
      const [server, page] = [await startOAuthServer(), await startOAuthServer(places)]
      const { origin } = registers === 'server' ? server : page
      server.metadata = {
        authorization_endpoint: `${page.origin}/authorize`,
        token_endpoint: `${page.origin}/token`,
        registration_endpoint: `${origin}/register`,
      }
      page.response = { iss: server.issuer }
      return { server, page }
    }
    const staticClient = { clientId: 'by-hand' }

    it("is refused as another issuer's, with the remedy, and fine with a client configured by hand", async () => {
      const { server, page } = await startAll('page')
      const refused = begin(server)
      await expect(Promise.race([refused.done, refused.prompt])).rejects.toMatchObject({
        fault: 'issuer_mismatch',
        message: expect.stringContaining('--static-oauth-client-info') as string,
      })
      expect(page.paths()).not.toContain('/register')
      const { prompt, credential } = await signInAt(server, undefined, { staticClient })
      expect(prompt).toHaveProperty('unconfirmed', undefined)
      expect(credential).toHaveProperty('acceptedPage', undefined)
    })

    it('is shown with both hosts where nothing confirms it', async () => {
      const { server, page } = await startAll('page', { metadataPaths: [] })
      const { prompt } = await signInAt(server)
      expect(prompt).toMatchObject({ unconfirmed: { page: host(page), namedBy: host(server) } })
    })

    it('does not get a client that was registered elsewhere', async () => {
      const { server, page } = await startAll('server', { metadataPaths: [] })
      const trial = begin(server)
      await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({
        fault: 'no_registration',
        message: expect.stringContaining('--static-oauth-client-info') as string,
      })
      expect([...server.paths(), ...page.paths()]).not.toContain('/register')
    })
  })

  it.each<[how: string, prepare: (page: OAuthServer) => void]>([
    ['publishes nothing', () => {}],
    [
      'publishes another page',
      (page) => (page.metadata = { authorization_endpoint: `${page.origin}/elsewhere` }),
    ],
    [
      'publishes nothing usable',
      (page) => void page.answers.set(metadataPath, () => ({ body: { issuer: 'x' } })),
    ],
    ['hangs up', (page) => void page.answers.set(metadataPath, () => ({ isCut: true }))],
    ['has a fault', (page) => void page.answers.set(metadataPath, () => ({ status: 503 }))],
    ['does not answer', (page) => void page.answers.set(metadataPath, () => new Promise(() => {}))],
  ])('that nothing confirms: both hosts are shown until a sign-in; it %s', async (how, prepare) => {
    const server = await startOAuthServer()
    const page = await startOAuthServer(how === 'publishes nothing' ? { metadataPaths: [] } : {})
    await sendToPage(server, page)
    prepare(page)
    const unconfirmed = { page: host(page), namedBy: host(server) }
    const first = await signInAt(server)
    expect(first.prompt).toMatchObject({ kind: 'browser', unconfirmed })
    expect(first.credential).toMatchObject({ acceptedPage: page.origin })
    if (how !== 'publishes nothing') return
    const second = await signInAt(server, first.credential)
    expect(second.prompt).toHaveProperty('unconfirmed', undefined)
    expect(second.credential).toMatchObject({ acceptedPage: page.origin })
    const elsewhere = await signInAt(server, { ...first.credential, issuer: 'https://before.example' })
    expect(elsewhere.prompt).toMatchObject({ unconfirmed })
  })

  it("that was accepted is refused when its host says that it is another issuer's", async () => {
    const [server, page] = [await startOAuthServer(), await startOAuthServer({ metadataPaths: [] })]
    await sendToPage(server, page)
    const { credential } = await signInAt(server)
    page.answers.set(metadataPath, () => ({
      body: { issuer: page.origin, authorization_endpoint: `${page.origin}/authorize` },
    }))
    const trial = begin(server, {}, credential)
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('a device page on another host', () => {
  /** Starts a server whose device codes are entered at `page`. */
  async function startDevices(page: OAuthServer, more: object = {}): Promise<OAuthServer> {
    const server = await startOAuthServer()
    server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
    const device = {
      device_code: 'd',
      user_code: 'WDJB-MJHT',
      verification_uri: `${page.origin}/device`,
      ...more,
    }
    server.answers.set('/device', () => ({ body: device }))
    return server
  }

  it.each<[grant: OAuthConfig['grant'], prefersDevice: boolean]>([
    ['device_code', false],
    ['authorization_code', true],
  ])('that another issuer has devices at is refused, with %s', async (grant, prefersDevice) => {
    const honest = await startOAuthServer()
    honest.metadata = { device_authorization_endpoint: `${honest.origin}/start` }
    const hostile = await startDevices(honest)
    const trial = begin(hostile, { grant, prefersDevice })
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(trial.prompts).toEqual([])
    expect(hostile.paths()).not.toContain('/token')
  })

  it("is refused as another issuer's also where the code is redeemed there", async () => {
    const honest = await startOAuthServer()
    const endpoints = {
      device_authorization_endpoint: `${honest.origin}/start`,
      token_endpoint: `${honest.origin}/token`,
      registration_endpoint: `${honest.origin}/register`,
    }
    honest.metadata = endpoints
    honest.answers.set('/start', () => ({
      body: { device_code: 'd', user_code: 'WDJB-MJHT', verification_uri: `${honest.origin}/device` },
    }))
    const hostile = await startOAuthServer()
    hostile.metadata = endpoints
    const trial = begin(hostile, { grant: 'device_code' })
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(honest.paths()).not.toContain('/token')
  })

  it.each<[grant: OAuthConfig['grant'], fault: string | undefined]>([
    ['device_code', 'bad_metadata'],
    ['authorization_code', undefined],
  ])('is not asked for where codes cannot be redeemed, with %s', async (grant, fault) => {
    const elsewhere = await startOAuthServer({ metadataPaths: [] })
    const server = await startDevices(elsewhere)
    server.metadata = { device_authorization_endpoint: `${elsewhere.origin}/start` }
    const trial = begin(server, { grant, prefersDevice: true })
    if (fault === undefined) expect(await trial.prompt).toMatchObject({ kind: 'browser' })
    else await expect(trial.done).rejects.toMatchObject({ fault })
    trial.cancel()
    expect(elsewhere.paths()).toEqual([])
  })

  it('that nothing confirms is shown with the requesting server, and remembered', async () => {
    const page = await startOAuthServer({ metadataPaths: [] })
    const server = await startDevices(page)
    const first = begin(server, { grant: 'device_code' })
    expect(await first.prompt).toMatchObject({
      askedBy: host(server),
      unconfirmed: { page: host(page), namedBy: host(server) },
    })
    const credential = await first.done
    expect(credential).toMatchObject({ acceptedPage: page.origin })
    const second = begin(server, { grant: 'device_code' }, credential)
    expect(await second.prompt).toHaveProperty('unconfirmed', undefined)
    await second.done
  })

  it('is not reached by a complete link when another one is shown', async () => {
    const page = await startOAuthServer({ metadataPaths: [] })
    const server = await startOAuthServer()
    server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
    server.answers.set('/device', () => ({
      body: {
        device_code: 'd',
        user_code: 'WDJB-MJHT',
        verification_uri: `${server.origin}/enter`,
        verification_uri_complete: `${page.origin}/device?code=WDJB-MJHT`,
      },
    }))
    const trial = begin(server, { grant: 'device_code' })
    const prompt = await trial.prompt
    expect(prompt).toMatchObject({ url: `${server.origin}/enter`, askedBy: host(server) })
    expect(prompt).toHaveProperty('completeUrl', undefined)
    await trial.done
  })
})
