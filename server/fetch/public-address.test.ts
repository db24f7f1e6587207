import { describe, expect, it } from 'vitest'
import { isLoopbackAddress, isPublicAddress } from './public-address.ts'

describe('isPublicAddress (RFC 6890; MCP security best practices, SSRF)', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '172.15.255.255',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ])('the address %s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each<[what: string, address: string]>([
    ['this network', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.127.255.255'],
    ['link local: metadata service of clouds', '169.254.169.254'],
    ['IETF assignments', '192.0.0.1'],
    ['documentation 1', '192.0.2.1'],
    ['6to4 relays', '192.88.99.1'],
    ['benchmarking', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['the host of a virtual machine in Azure', '168.63.129.16'],
    ['the same, mapped', '::ffff:168.63.129.16'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private', '::ffff:10.0.0.1'],
    ['IPv4-compatible', '::8.8.8.8'],
    ['IPv4-translated', '::ffff:0:8.8.8.8'],
    ['NAT64 of loopback', '64:ff9b::127.0.0.1'],
    ['NAT64 of link local', '64:ff9b::a9fe:a9fe'],
    ['local NAT64', '64:ff9b:1::8.8.8.8'],
    ['6to4 of a public address', '2002:808:808::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['link local', 'fe80::1'],
    ['link local with a zone', 'fe80::1%eth0'],
    ['site local', 'fec0::1'],
    ['unique local: metadata service', 'fd00:ec2::254'],
    ['multicast', 'ff02::1'],
    ['discard only', '100::1'],
    ['documentation', '2001:db8::1'],
    ['benchmarking', '2001:2::1'],
    ['not handed out', '4000::1'],
    ['a public address with a zone', '2606:4700:4700::1111%1'],
  ])('isPublicAddress refuses %s: %s', (_what, address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([
    '',
    'localhost',
    '2130706433',
    '0x7f000001',
    '127.1',
    '0177.0.0.1',
    '8.8.8',
    '08.8.8.8',
    '[::1]',
    '8.8.8.8 ',
  ])('isPublicAddress refuses text that is not a plain address: %j', (text) => {
    expect(isPublicAddress(text)).toBe(false)
  })
})

it.each([
  ['127.0.0.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['::ffff:10.0.0.1', false],
  ['10.0.0.1', false],
  ['::', false],
  ['localhost', false],
])('%s is loopback: %s', (address, expected) => {
  expect(isLoopbackAddress(address)).toBe(expected)
})
