import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { callbackUrl, replacing, startOidcFixture } from '../../../tests/support/server/oidc-fixture.ts'

const metadataPath = '/.well-known/openid-configuration'

const fixture = await startOidcFixture()
beforeEach(() => {
  fixture.server.requests.length = 0
})
afterAll(() => fixture.server.close())

const offered = {
  password: false,
  social: [{ id: 'oidc', label: 'Example ID' }],
  captcha: undefined,
  confirmsEmail: true,
}

/** Counts the metadata requests that the provider has received. */
function discoveries(): number {
  return fixture.server.requests.filter((request) => request === `GET ${metadataPath}`).length
}

/** Resolves when background work that waits for no socket has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function failNext(): void {
  fixture.intercept(metadataPath, () => Promise.reject(new TypeError('fetch failed')))
}

describe('capabilities', () => {
  test('an OpenID Connect provider offers one button and nothing else', async () => {
    await expect(fixture.providerWith({}).capabilities()).resolves.toEqual(offered)
  })

  test('capabilities of a provider that was never reached fail, and are requested again after two seconds', async () => {
    const provider = fixture.providerWith({})
    failNext()
    for (const _ of [1, 2, 3]) {
      await expect(provider.capabilities()).rejects.toMatchObject({ failure: 'transient' })
    }
    fixture.runtime.advance(2)
    await expect(provider.capabilities()).resolves.toEqual(offered)
  })

  test('capabilities are requested once for concurrent callers, and then not again for an hour', async () => {
    const provider = fixture.providerWith({})
    await Promise.all([provider.capabilities(), provider.capabilities(), provider.capabilities()])
    fixture.runtime.advance(3599)
    await provider.capabilities()
    expect(discoveries()).toBe(1)
  })

  test('capabilities refresh the metadata after an hour in the background, and after a failure every minute', async () => {
    const provider = fixture.providerWith({})
    await provider.capabilities()
    let attempts = 0
    const fail = (): void =>
      fixture.intercept(metadataPath, () => {
        attempts += 1
        return Promise.reject(new TypeError('fetch failed'))
      })
    const attemptsAfter = async (seconds: number): Promise<number> => {
      fixture.runtime.advance(seconds)
      await expect(provider.capabilities()).resolves.toEqual(offered)
      await settled()
      return attempts
    }
    fail()
    fail()
    expect(await attemptsAfter(3600)).toBe(1)
    expect(await attemptsAfter(59)).toBe(1)
    expect(await attemptsAfter(1)).toBe(2)
    fixture.runtime.advance(60)
    await provider.capabilities()
    await expect.poll(() => discoveries(), { interval: 5 }).toBe(2)
  })
})

describe('discovery', () => {
  test('discovery uses the current metadata', async () => {
    const provider = fixture.providerWith({})
    await provider.capabilities()
    fixture.runtime.advance(3600)
    fixture.intercept(metadataPath, replacing({ authorization_endpoint: 'http://127.0.0.1:1/moved' }))
    await provider.capabilities()
    await expect
      .poll(async () => (await provider.socialStart({ method: 'oidc', callbackUrl })).url, { interval: 5 })
      .toMatch(/^http:\/\/127\.0\.0\.1:1\/moved\?/)
  })

  test.each([
    ['another issuer', 'https://other.example'],
    ['the issuer with a slash at its end', undefined],
    ['a template of Entra ID', 'https://login.microsoftonline.com/{tenantid}/v2.0'],
  ])('discovery refuses %s, naming both', async (_what, issuer = `${fixture.server.issuer}/`) => {
    fixture.intercept(metadataPath, replacing({ issuer }))
    const error: unknown = await fixture
      .providerWith({})
      .capabilities()
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ failure: 'protocol' })
    expect((error as Error).message).toContain(` ${issuer}.`)
    expect((error as Error).message).toContain(` ${fixture.server.issuer} `)
  })

  test('discovery accepts an issuer that ends with a slash and is configured so', async () => {
    const issuer = `${fixture.server.issuer}/`
    fixture.intercept(metadataPath, replacing({ issuer }))
    await expect(fixture.providerWith({ issuer }).capabilities()).resolves.toEqual(offered)
  })

  test.each<[string, () => Response, string]>([
    ['a 404', () => new Response('', { status: 404 }), 'protocol'],
    ['a page', () => new Response('<html>'), 'protocol'],
    ['a redirect', () => Response.redirect('https://elsewhere.example', 302), 'protocol'],
    ['no issuer', () => Response.json({}), 'protocol'],
    ['a 503', () => new Response('', { status: 503 }), 'transient'],
  ])('discovery refuses %s', async (_what, answer, failure) => {
    fixture.intercept(metadataPath, answer)
    await expect(fixture.providerWith({}).capabilities()).rejects.toMatchObject({ failure })
  })

  test('discovery never requests http on another machine', async () => {
    const provider = fixture.providerWith({ issuer: 'http://id.example.com' })
    await expect(provider.capabilities()).rejects.toMatchObject({
      failure: 'protocol',
      message: expect.stringMatching(/HTTPS/) as string,
    })
  })

  test('discovery sends no secret over http that the metadata of an https issuer requests', async () => {
    const issuer = 'https://id.example.com'
    const asked: string[] = []
    const provider = fixture.providerWith({ issuer })
    fixture.intercept(metadataPath, (request) => {
      asked.push(request.url)
      return Response.json({
        issuer,
        token_endpoint: 'http://id.example.com/token',
        revocation_endpoint: 'http://id.example.com/revoke',
        userinfo_endpoint: 'http://id.example.com/me',
      })
    })
    const session = { accessToken: 'access', refreshToken: 'refresh', expiresAt: 0 }
    for (const path of ['/token', '/revoke', '/me']) {
      fixture.intercept(path, (request) => {
        asked.push(request.url)
        return Response.json({})
      })
    }
    await expect(provider.refresh(session)).rejects.toMatchObject({ failure: 'transient' })
    await expect(provider.signOut(session)).rejects.toMatchObject({ failure: 'protocol' })
    await expect(provider.probe?.({ accessToken: 'access' })).rejects.toMatchObject({ failure: 'protocol' })
    expect(asked).toEqual([`${issuer}${metadataPath}`])
  })
})

describe('a ping', () => {
  test('a ping sends a request each time, also once the metadata is known', async () => {
    const provider = fixture.providerWith({})
    await provider.ping()
    await provider.ping()
    expect(discoveries()).toBe(3)
  })

  test('a ping notices a provider that goes down and one that comes back', async () => {
    const provider = fixture.providerWith({})
    await provider.capabilities()
    failNext()
    await expect(provider.ping()).rejects.toMatchObject({ failure: 'transient' })
    fixture.intercept(metadataPath, () => new Response('<html>', { status: 502 }))
    await expect(provider.ping()).rejects.toMatchObject({ failure: 'transient' })
    await expect(provider.ping()).resolves.toBeUndefined()
  })
})
