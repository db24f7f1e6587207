import { beforeEach, describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import {
  type Answer,
  type OAuthServer,
  openOAuthServer,
  type OAuthServerPlaces,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { visit } from '../../../tests/support/bridge/oauth/scripted-browser.ts'
import { beginTrial, type SignInTrial } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

const host = ({ origin }: OAuthServer): string => new URL(origin).host
const metadataPath = '/.well-known/oauth-authorization-server'

const { server } = await openOAuthServer()
/** Another host, with pages that `server` sends people to. */
const { server: page } = await openOAuthServer()
const unconfirmed = { page: host(page), namedBy: host(server) }

/** The login page of `server` is at `page`, and the codes are its own. */
function sendToPage(): void {
  server.metadata = { authorization_endpoint: `${page.origin}/authorize` }
  page.answers.set('/authorize', ({ query }) => ({
    status: 302,
    headers: { location: `${server.origin}/authorize?${query.toString()}` },
  }))
}

function begin(changes: Partial<OAuthConfig> = {}, previous?: Credential): SignInTrial {
  return beginTrial(server.serverUrl, changes, previous === undefined ? {} : { previous })
}

async function signIn(previous?: Credential, changes: Partial<OAuthConfig> = {}) {
  const trial = begin(changes, previous)
  // The test expects any failure before a prompt.
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
  ])('a login page that another issuer publishes is refused, %s', async (_how, places, path) => {
    const honest = await startOAuthServer(places)
    honest.metadata = {
      authorization_endpoint: `${honest.origin}${path.replace('//Authorize/?a=b', '/authorize')}`,
    }
    server.metadata = {
      authorization_endpoint: `${honest.origin}${path}`,
      authorization_response_iss_parameter_supported: undefined,
    }
    honest.response = { iss: undefined }
    const trial = begin()
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({
      name: 'OAuthFailure',
      fault: 'issuer_mismatch',
      issuer: server.issuer,
      message: expect.stringContaining(`another one, "${honest.issuer}"`) as string,
    })
    expect(trial.prompts).toEqual([])
    for (const path of ['/register', '/token']) expect(server.paths()).not.toContain(path)
    expect(honest.paths().filter((asked) => !asked.includes('/.well-known/'))).toEqual([])
  })

  it('a login page that names this issuer is accepted', async () => {
    sendToPage()
    page.metadata = { issuer: server.issuer, authorization_endpoint: `${page.origin}/authorize` }
    const { prompt, credential } = await signIn()
    expect(prompt).toHaveProperty('unconfirmed', undefined)
    expect(credential).toHaveProperty('acceptedPage', undefined)
  })

  describe('where the code is redeemed, too', () => {
    /** `server` names the endpoints of `page`; clients are registered at `origin`. */
    function shareEndpoints(origin = page.origin): void {
      server.metadata = {
        authorization_endpoint: `${page.origin}/authorize`,
        token_endpoint: `${page.origin}/token`,
        registration_endpoint: `${origin}/register`,
      }
      page.response = { iss: server.issuer }
    }
    const staticClient = { clientId: 'by-hand' }

    it('a login page of another issuer is refused with the remedy, and accepted with a configured client', async () => {
      shareEndpoints()
      const refused = begin()
      await expect(Promise.race([refused.done, refused.prompt])).rejects.toMatchObject({
        fault: 'issuer_mismatch',
        message: expect.stringContaining('--static-oauth-client-info') as string,
      })
      expect(page.paths()).not.toContain('/register')
      const { prompt, credential } = await signIn(undefined, { staticClient })
      expect(prompt).toHaveProperty('unconfirmed', undefined)
      expect(credential).toHaveProperty('acceptedPage', undefined)
    })

    it('an unconfirmed login page is shown with both hosts', async () => {
      shareEndpoints()
      page.places = { metadataPaths: [] }
      expect((await signIn()).prompt).toMatchObject({ unconfirmed })
    })

    it('an unconfirmed login page does not get a client registered elsewhere', async () => {
      shareEndpoints(server.origin)
      page.places = { metadataPaths: [] }
      const trial = begin()
      await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({
        fault: 'no_registration',
        message: expect.stringContaining('--static-oauth-client-info') as string,
      })
      expect([...server.paths(), ...page.paths()]).not.toContain('/register')
    })
  })

  it.each<[how: string, answer: Answer]>([
    ['publishes nothing', () => ({ status: 404 })],
    [
      'publishes another page',
      () => ({ body: { issuer: page.issuer, authorization_endpoint: `${page.origin}/elsewhere` } }),
    ],
    ['publishes nothing usable', () => ({ body: { issuer: 'x' } })],
    ['hangs up', () => ({ isCut: true })],
    ['has a fault', () => ({ status: 503 })],
    ['does not answer', () => new Promise(() => {})],
  ])('an unconfirmed login page shows both hosts until a sign-in; it %s', async (how, answer) => {
    sendToPage()
    page.answers.set(metadataPath, answer)
    const first = await signIn()
    expect(first.prompt).toMatchObject({ kind: 'browser', unconfirmed })
    expect(first.credential).toMatchObject({ acceptedPage: page.origin })
    if (how !== 'publishes nothing') return
    const second = await signIn(first.credential)
    expect(second.prompt).toHaveProperty('unconfirmed', undefined)
    expect(second.credential).toMatchObject({ acceptedPage: page.origin })
    const elsewhere = await signIn({ ...first.credential, issuer: 'https://before.example' })
    expect(elsewhere.prompt).toMatchObject({ unconfirmed })
  })

  it('an accepted login page is refused once its host names another issuer', async () => {
    page.places = { metadataPaths: [] }
    sendToPage()
    const { credential } = await signIn()
    page.answers.set(metadataPath, () => ({
      body: { issuer: page.origin, authorization_endpoint: `${page.origin}/authorize` },
    }))
    const trial = begin({}, credential)
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
  })
})

describe('a device page on another host', () => {
  const device = { device_code: 'd', user_code: 'WDJB-MJHT', verification_uri: `${page.origin}/device` }
  beforeEach(() => {
    server.metadata = { device_authorization_endpoint: `${server.origin}/device` }
    server.answers.set('/device', () => ({ body: device }))
  })

  it.each<[grant: OAuthConfig['grant'], prefersDevice: boolean]>([
    ['device_code', false],
    ['authorization_code', true],
  ])('a device page of another issuer is refused, with %s', async (grant, prefersDevice) => {
    page.metadata = { device_authorization_endpoint: `${page.origin}/start` }
    const trial = begin({ grant, prefersDevice })
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(trial.prompts).toEqual([])
    expect(server.paths()).not.toContain('/token')
  })

  it('a device page of another issuer is refused even if the code is redeemed there', async () => {
    page.metadata = {
      device_authorization_endpoint: `${page.origin}/start`,
      token_endpoint: `${page.origin}/token`,
      registration_endpoint: `${page.origin}/register`,
    }
    page.answers.set('/start', () => ({ body: device }))
    server.metadata = page.metadata
    const trial = begin({ grant: 'device_code' })
    await expect(Promise.race([trial.done, trial.prompt])).rejects.toMatchObject({ fault: 'issuer_mismatch' })
    expect(page.paths()).not.toContain('/token')
  })

  it.each<[grant: OAuthConfig['grant'], fault: string | undefined]>([
    ['device_code', 'bad_metadata'],
    ['authorization_code', undefined],
  ])('a device code is not requested where it cannot be redeemed, with %s', async (grant, fault) => {
    page.places = { metadataPaths: [] }
    server.metadata = { device_authorization_endpoint: `${page.origin}/start` }
    const trial = begin({ grant, prefersDevice: true })
    if (fault === undefined) expect(await trial.prompt).toMatchObject({ kind: 'browser' })
    else await expect(trial.done).rejects.toMatchObject({ fault })
    trial.cancel()
    expect(page.paths()).toEqual([])
  })

  it('an unconfirmed device page is shown with the requesting server, and remembered', async () => {
    page.places = { metadataPaths: [] }
    const first = begin({ grant: 'device_code' })
    expect(await first.prompt).toMatchObject({ askedBy: host(server), unconfirmed })
    const credential = await first.done
    expect(credential).toMatchObject({ acceptedPage: page.origin })
    const second = begin({ grant: 'device_code' }, credential)
    expect(await second.prompt).toHaveProperty('unconfirmed', undefined)
    await second.done
  })

  it('a device page is not opened by a complete link to another host', async () => {
    const verification_uri_complete = `${page.origin}/device?code=WDJB-MJHT`
    server.answers.set('/device', () => ({
      body: { ...device, verification_uri: `${server.origin}/enter`, verification_uri_complete },
    }))
    const trial = begin({ grant: 'device_code' })
    const prompt = await trial.prompt
    expect(prompt).toMatchObject({ url: `${server.origin}/enter`, askedBy: host(server) })
    expect(prompt).toHaveProperty('completeUrl', undefined)
    await trial.done
  })
})
