import { describe, expect, test } from 'vitest'
import { hostName } from './host-name.ts'

describe('hostName', () => {
  test.each([
    ['claude.ai', '<bdi class="host">claude.ai</bdi>'],
    ['www.example.co.uk:8443', '<span class="subdomain">www.</span><wbr />example.co.uk:8443'],
    ['claude.ai.example.co.uk', '<span class="subdomain">claude.ai.</span><wbr />example.co.uk'],
    ['127.0.0.1', '<bdi class="host">127.0.0.1</bdi>'],
    ['[::1]', '<bdi class="host">[::1]</bdi>'],
    ['cursor', '<bdi class="host">cursor</bdi>'],
    ['<b>', '<bdi class="host">&lt;b&gt;</bdi>'],
  ])('%s', (host, markup) => {
    expect(String(hostName(host))).toContain(markup)
  })
})
