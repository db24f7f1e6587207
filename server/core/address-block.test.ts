import { describe, expect, it } from 'vitest'
import { addressBlock } from './address-block.ts'

describe('addressBlock', () => {
  it.each<[address: string, block: string]>([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['no:address', 'no:address'],
    ['', ''],
  ])('%s is of %s', (address, block) => {
    expect(addressBlock(address)).toBe(block)
  })
})
