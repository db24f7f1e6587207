import { describe, expect, it } from 'vitest'
import { addressBlocks, addressNetwork } from './address-block.ts'

describe('addressBlocks', () => {
  it.each<[address: string, blocks: string[]]>([
    ['203.0.113.9', ['203.0.113.9']],
    ['::ffff:203.0.113.9', ['203.0.113.9']],
    ['2001:db8:1:203::1', ['2001:db8:1:203::/64', '2001:db8:1:200::/56', '2001:db8:1::/48']],
    ['2001:db8:1:300::1', ['2001:db8:1:300::/64', '2001:db8:1:300::/56', '2001:db8:1::/48']],
    ['fe80::1%eth0', ['fe80::/64', 'fe80::/56', 'fe80::/48']],
    ['::1', ['::/64', '::/56', '::/48']],
    ['no:address', ['no:address']],
    ['', ['']],
  ])('RFC 6177 2: %s counts for %j', (address, blocks) => {
    expect(addressBlocks(address).map(({ name }) => name)).toEqual(blocks)
  })

  it('a wider block may do more', () => {
    expect(addressBlocks('2001:db8::1').map(({ factor }) => factor)).toEqual([1, 4, 16])
    expect(addressBlocks('203.0.113.9').map(({ factor }) => factor)).toEqual([1])
  })
})

it.each<[address: string, network: string]>([
  ['203.0.113.9', '203.0.113.0/24'],
  ['::ffff:203.0.113.9', '203.0.113.0/24'],
  ['2001:db8:1:203::1', '2001:db8:1::/48'],
  ['no:address', ''],
  ['', ''],
])('addressNetwork: %s is in %j', (address, network) => {
  expect(addressNetwork(address)).toBe(network)
})
