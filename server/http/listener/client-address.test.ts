import { describe, expect, it } from 'vitest'
import { parseAddressRanges } from '../../config/config-value.ts'
import { createAddressChain, createClientAddress } from './client-address.ts'

const asked = (headers: Record<string, string>): Request =>
  new Request('http://localhost:8787/mcp', { headers })

const forwarded = (value: string): Request => asked({ 'x-forwarded-for': value })

describe('createClientAddress without trusted proxies', () => {
  const addressOf = createClientAddress([])

  it.each<[peer: string | undefined, address: string | undefined]>([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['::FFFF:cb00:7109', '203.0.113.9'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    [undefined, undefined],
    ['', undefined],
    ['not an address', undefined],
  ])('the peer %s is %s', (peer, address) => {
    expect(addressOf(asked({}), { address: peer })).toBe(address)
  })

  it('createClientAddress returns no address without a peer', () => {
    expect(addressOf(forwarded('203.0.113.9'), undefined)).toBeUndefined()
  })

  it.each<[name: string, headers: Record<string, string>]>([
    ['X-Forwarded-For', { 'x-forwarded-for': '198.51.100.1' }],
    ['Forwarded (RFC 7239)', { forwarded: 'for=198.51.100.1' }],
    ['X-Real-IP', { 'x-real-ip': '198.51.100.1' }],
    ['X-Client-IP', { 'x-client-ip': '198.51.100.1' }],
    ['CF-Connecting-IP', { 'cf-connecting-ip': '198.51.100.1' }],
    ['True-Client-IP', { 'true-client-ip': '198.51.100.1' }],
  ])('createClientAddress ignores %s of a client', (_name, headers) => {
    expect(addressOf(asked(headers), { address: '127.0.0.1' })).toBe('127.0.0.1')
  })

  it('createClientAddress returns no address for an untrusted proxy where only proxies connect', () => {
    const behindTls = createClientAddress([], { onlyByProxy: true })
    expect(behindTls(forwarded('198.51.100.1'), { address: '10.0.0.1' })).toBeUndefined()
    const trusting = createClientAddress(['10.0.0.1'], { onlyByProxy: true })
    expect(trusting(forwarded('198.51.100.1'), { address: '10.0.0.1' })).toBe('198.51.100.1')
  })
})

describe('createClientAddress behind a trusted proxy', () => {
  const addressOf = createClientAddress(['127.0.0.1', '10.0.0.0/8', '2001:db8:cafe::/48'])
  const peer = { address: '::ffff:127.0.0.1' }

  it.each<[header: string, address: string]>([
    ['198.51.100.7', '198.51.100.7'],
    // As of a proxy that adds the address to what a client sent, and of Azure Application Gateway.
    ['1.2.3.4, 198.51.100.7', '198.51.100.7'],
    ['198.51.100.7:51234', '198.51.100.7'],
    ['198.51.100.7, 10.1.2.3', '198.51.100.7'],
    ['203.0.113.66, 198.51.100.7, 10.1.2.3, 2001:db8:cafe::5', '198.51.100.7'],
    ['2001:0DB8:0::7', '2001:db8::7'],
    ['[2001:db8::7]:443', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    [' 198.51.100.7 ', '198.51.100.7'],
    // Only trusted ones: the farthest is the client.
    ['10.9.9.9, 10.1.2.3', '10.9.9.9'],
    // The last valid one, from the right.
    ['198.51.100.7, unknown, 10.1.2.3', '10.1.2.3'],
    ['198.51.100.7, , 10.1.2.3', '10.1.2.3'],
    ['198.51.100.7,', '127.0.0.1'],
    ['unknown', '127.0.0.1'],
    ['_hidden', '127.0.0.1'],
    ['', '127.0.0.1'],
    ['for=198.51.100.7', '127.0.0.1'],
    // Forms that other programs read as another address.
    ['0x7f.1', '127.0.0.1'],
    ['3232235777', '127.0.0.1'],
    ['010.1.2.3', '127.0.0.1'],
    ['256.1.1.1', '127.0.0.1'],
    ['198.51.100.7:99999999', '127.0.0.1'],
    ['[198.51.100.7', '127.0.0.1'],
  ])('%s: %s', (header, address) => {
    expect(addressOf(forwarded(header), peer)).toBe(address)
  })

  it('createClientAddress joins two X-Forwarded-For headers into one list', () => {
    const headers = new Headers([
      ['x-forwarded-for', '1.2.3.4'],
      ['x-forwarded-for', '198.51.100.7, 10.0.0.1'],
    ])
    expect(addressOf(new Request('http://localhost/', { headers }), peer)).toBe('198.51.100.7')
  })

  it('RFC 9700 4.13: an untrusted proxy counts as the client', () => {
    expect(addressOf(forwarded('198.51.100.7'), { address: '192.0.2.1' })).toBe('192.0.2.1')
  })

  it.each<[name: string, header: string]>([
    ['commas', ','.repeat(130_000)],
    ['blanks', `${' '.repeat(130_000)}10.0.0.1`],
    ['addresses', '10.0.0.1,'.repeat(14_000)],
    ['brackets', '['.repeat(130_000)],
    ['digits', '1'.repeat(130_000)],
    ['colons', ':'.repeat(130_000)],
  ])('130 KB of %s cost nothing', (_name, header) => {
    const request = forwarded(header)
    const before = process.cpuUsage()
    for (let index = 0; index < 100; index += 1) addressOf(request, peer)
    // Ten times what it takes under load.
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000)
  })

  it('createClientAddress reads as many entries as the longest proxy chain has', () => {
    const header = ['198.51.100.7', ...Array.from({ length: 40 }, () => '10.0.0.1')].join(', ')
    expect(addressOf(forwarded(header), peer)).toBe('10.0.0.1')
  })

  it.each<[range: string, peerAddress: string, trusted: boolean]>([
    ['::ffff:10.0.0.0/104', '10.1.1.1', true],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['0.0.0.0/0', '203.0.113.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '203.0.113.1', false],
    ['::/0', '2001:db8::1', true],
    ['10.0.0.0/31', '10.0.0.2', false],
  ])('%s trusts %s: %s', (range, peerAddress, trusted) => {
    const address = createClientAddress([range])(forwarded('198.51.100.7'), { address: peerAddress })
    expect(address).toBe(trusted ? '198.51.100.7' : peerAddress)
  })
})

describe('private, as trusted proxies', () => {
  const addressOf = createAddressChain(parseAddressRanges('private'))
  const client = '203.0.113.9'

  it.each([
    ['10.21.157.68', 'Render'],
    ['10.0.0.0', 'a first address'],
    ['10.255.255.255', 'a last address'],
    ['172.16.133.18', 'Fly'],
    ['172.31.255.255', 'Docker'],
    ['192.168.0.1', 'a home'],
    ['100.64.0.2', 'Railway'],
    ['100.127.255.255', 'a last shared address'],
    ['169.254.1.1', 'Cloud Run'],
    ['127.0.0.1', 'this machine'],
    ['127.8.8.8', 'this machine'],
    ['::1', 'this machine'],
    ['::ffff:10.0.0.1', 'an IPv4 address on an IPv6 socket'],
    ['fd12:3456::1', 'Fly, private IPv6'],
    ['fc00::1', 'unique local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'a last link-local address'],
  ])('private trusts %s (%s) to name the client', (peer) => {
    expect(addressOf(client, peer)).toBe(client)
  })

  it.each([
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '::2',
    'fbff::1',
    'fe00::1',
    'fec0::1',
    '2001:db8::1',
  ])('private does not trust %s, which is on the internet or reserved', (peer) => {
    expect(addressOf(client, peer)).toBe(peer)
  })
})
