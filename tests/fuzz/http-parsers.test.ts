import { isIP } from 'node:net'
import { expect } from 'vitest'
import { addressBlocks } from '../../server/core/address-block.ts'
import { createAddressChain } from '../../server/http/listener/client-address.ts'
import { preflight } from '../../server/http/middleware/cors.ts'
import { createHostGuard, isOwnFormPost, judgeOrigin } from '../../server/http/middleware/guards.ts'
import { formFaultOf } from '../../server/http/request-fault.ts'
import { fuzz, it } from './fuzz.ts'
import { hostileHeader, hostileText } from './hostile-text.ts'

const own = 'https://mcp.example.com'
const hosts = [
  'mcp.example.com',
  'inner:8080',
  '.evil.example',
  'evil.example',
  '@',
  ':443',
  ':8080',
  '[::1]',
  ',',
  '/',
]

const asked = (headers: Headers): Request => ({ headers, url: `${own}/mcp`, method: 'POST' }) as Request

it('Host: only ours is ours', async () => {
  const isOwn = createHostGuard(own)
  let ours = 0
  await fuzz({
    make: (chance) => new Headers({ host: hostileHeader(chance, hosts) }),
    work(headers) {
      if (!isOwn(asked(headers))) return
      ours += 1
      const { host } = new URL(`https://${headers.get('host')}`)
      if (host !== 'mcp.example.com') throw new Error('This is not ours.')
    },
  })
  expect(ours).toBeGreaterThan(40)
})

it('Origin: only our pages post forms, only trusted ones use the cookie', async () => {
  const fragments = [own, own, 'http://localhost:6274', 'https://', 'null', 'chrome-extension://', ...hosts]
  let ours = 0
  await fuzz({
    make: (chance) =>
      new Headers({
        origin: hostileHeader(chance, fragments),
        ...(chance.once(3) && {
          'sec-fetch-site': hostileHeader(chance, ['same-origin', 'cross-site', 'none']),
        }),
      }),
    work(headers) {
      const origin = headers.get('origin') ?? ''
      if (judgeOrigin(origin, [own]) === 'trusted' && origin.toLowerCase() !== own)
        throw new Error('Not trusted.')
      if (!isOwnFormPost(asked(headers), own)) return
      ours += 1
      if (new URL(origin).origin !== own) throw new Error('This page is not ours.')
      if (headers.get('sec-fetch-site') === 'cross-site') throw new Error('This came from elsewhere.')
    },
  })
  expect(ours).toBeGreaterThan(40)
})

it('X-Forwarded-For: an address or nothing, and none that the client chooses', () => {
  const fragments = [
    '10.0.0.1',
    '198.51.100.7',
    ', ',
    ',',
    '2001:db8::7',
    '[2001:db8::7]:443',
    ':80',
    '::ffff:',
    '%eth0',
    '/8',
    'unknown',
    'for=',
  ]
  const trusting = createAddressChain(['10.0.0.0/8', '2001:db8:cafe::/48'])
  return fuzz({
    make: (chance) => ({ header: hostileHeader(chance, fragments), peer: hostileText(chance, fragments) }),
    work({ header, peer }) {
      for (const address of [trusting(header, peer), trusting(header, '10.0.0.1')]) {
        if (address === undefined) continue
        if (isIP(address) === 0) throw new Error(`${address} is not an address.`)
        addressBlocks(address)
      }
      if (trusting(header, '192.0.2.1') !== '192.0.2.1') throw new Error('A stranger was believed.')
      // The nearest proxy's entry is at the end; nothing before it counts.
      if (trusting(`${header}, 198.51.100.9`, '10.0.0.1') !== '198.51.100.9')
        throw new Error('The client chose.')
      addressBlocks(peer)
    },
  })
})

it('request heads: a path that is let in is the path that is served (RFC 9112 section 3.2)', async () => {
  const fragments = [
    '/',
    '/',
    '/mcp',
    '/oauth/token',
    'http://mcp.example.com/',
    '?',
    '%2f',
    '%2E',
    '%41',
    '..',
    '.',
    '#',
    '\\',
    'https://',
  ]
  let letIn = 0
  await fuzz({
    make: (chance) => ({
      url: (chance.once(3) ? '' : '/') + hostileText(chance, fragments),
      coding: chance.once(3) ? hostileHeader(chance, ['chunked', 'gzip', ', ']) : undefined,
    }),
    work({ url, coding }) {
      const fault = formFaultOf({
        method: 'GET',
        url,
        httpVersionMinor: 1,
        rawHeaders: ['Host', 'mcp.example.com'],
        headers: coding === undefined ? {} : { 'transfer-encoding': coding },
      })
      if (fault) return
      letIn += 1
      const read = url.startsWith('/') ? own + url : url
      // An invalid host is rejected where a URL is made of it.
      if (!URL.canParse(read)) return
      const { pathname } = new URL(read)
      const sent = url.replace(/^https?:\/\/[^/]*/i, '').split('?', 1)[0]
      if (pathname !== sent) throw new Error(`${sent} is read as ${pathname}.`)
      if (coding !== undefined && coding.toLowerCase() !== 'chunked')
        throw new Error('This body has no certain end.')
    },
  })
  expect(letIn).toBeGreaterThan(1000)
})

it('preflights: an allowed header cannot split the answer', () =>
  fuzz({
    make: (chance) => hostileHeader(chance, ['mcp-param-', 'authorization', ',', 'x', 'content-type']),
    work(list) {
      const { headers } = preflight(asked(new Headers({ 'access-control-request-headers': list })), ['POST'])
      const allowed = headers['access-control-allow-headers'] ?? ''
      if (!/^[a-z0-9_, -]*$/.test(allowed)) throw new Error(allowed)
    },
  }))
