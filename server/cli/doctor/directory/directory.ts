import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Finding, fail, note, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../../config/setting.ts'
import type { FileFault } from '../../../config/setting-file.ts'
import { readWellKnownFile } from '../../../config/well-known-file.ts'
import { isAcceptedHost } from '../../../core/clients/client-finder.ts'
import { isPublicAddress } from '../../../fetch/guarded-fetch-address.ts'
import type { DirectoryName } from './directory-name.ts'
import type { Findings } from '../doctor.ts'
import { visit } from '../visit.ts'
import { checkTools } from './directory-tools.ts'
import { listTools } from './listed-tools.ts'

const hosts: Readonly<Record<DirectoryName, string>> = { claude: 'claude.ai', chatgpt: 'chatgpt.com' }

/**
 * Looks at what the reviewers of a directory ask for, as far as the configuration, the running server and its tools show it. Changes
 * nothing and calls no tool. `faulty` are settings whose files cannot be used. `token` is an access token for `/mcp` that the running
 * server is asked for its tools with; without one they are those of the module.
 */
export async function* examineDirectory(
  directory: DirectoryName,
  config: ServerConfig,
  runtime: Pick<Runtime, 'fetch'>,
  { faulty, token }: { faulty: ReadonlySet<FileFault['field']>; token: string | undefined },
): Findings {
  yield [checkHost(config), ...checkClients(directory, config), ...checkPages(config)]
  if (directory === 'chatgpt' && !faulty.has('wellKnown')) yield [await checkChallenge(config, runtime)]
  const listed = await listTools(config, runtime, token)
  yield listed.kind === 'tools'
    ? [...(listed.note ? [listed.note] : []), ...checkTools(directory, listed.tools)]
    : [warn('directory-tools', listed.why, listed.fix)]
  yield [...checkAccount(config), byHand(directory)]
}

function checkHost({ baseUrl }: ServerConfig): Finding {
  const name = 'public-host'
  const { protocol, hostname } = new URL(baseUrl)
  const fix = 'Set DRAWBRIDGE_BASE_URL to the https address that the internet knows.'
  if (isLoopbackHostname(hostname)) {
    return note(name, 'BASE_URL is of this computer; a directory needs a public https address.', fix)
  }
  const address = hostname.replaceAll(/[[\]]/g, '')
  const isAddress = /^[\d.]+$|:/.test(address)
  const isInside = !hostname.includes('.') || /\.(?:local|internal|lan|home|test|localhost)$/.test(hostname)
  if (protocol !== 'https:' || (isAddress ? !isPublicAddress(address) : isInside)) {
    return fail(name, `${baseUrl} is not an address that the internet reaches.`, fix)
  }
  return ok(name, `${baseUrl} is https, by a public name.`)
}

/** How the directory's client gets an id here. People consent in any case. */
function checkClients(
  directory: DirectoryName,
  { registration, clientDocuments, clientDocumentHosts }: ServerConfig,
): Finding[] {
  const name = 'directory-client'
  const host = hosts[directory]
  const takesDocument = clientDocuments && isAcceptedHost(host, clientDocumentHosts)
  if (takesDocument || registration) {
    const ways = [
      ...(takesDocument ? ['by its metadata document'] : []),
      ...(registration ? ['by registration'] : []),
    ]
    return [ok(name, `The client of ${host} becomes known ${ways.join(' or ')}.`)]
  }
  const fix = clientDocuments
    ? `Add ${host} to DRAWBRIDGE_CLIENT_DOCUMENT_HOSTS, or give the directory a client of DRAWBRIDGE_CLIENTS.`
    : 'Set DRAWBRIDGE_CLIENT_DOCUMENTS=on, or give the directory a client of DRAWBRIDGE_CLIENTS.'
  return [fail(name, `The client of ${host} can neither register nor show its metadata document.`, fix)]
}

function checkPages({ privacyUrl, termsUrl, supportUrl }: ServerConfig): Finding[] {
  const pages = [
    { name: 'privacy-policy', url: privacyUrl, variable: 'DRAWBRIDGE_PRIVACY_URL', what: 'privacy policy' },
    { name: 'terms', url: termsUrl, variable: 'DRAWBRIDGE_TERMS_URL', what: 'terms of service' },
    { name: 'support', url: supportUrl, variable: 'DRAWBRIDGE_SUPPORT_URL', what: 'support page' },
  ]
  return pages.map(({ name, url, variable, what }) =>
    url === undefined
      ? fail(name, `No URL is set for the ${what}.`, `Set ${variable}.`)
      : ok(name, `The ${what} is ${url}.`),
  )
}

/** The proof that the host is yours, as the world sees it. */
async function checkChallenge(config: ServerConfig, runtime: Pick<Runtime, 'fetch'>): Promise<Finding> {
  const name = 'domain-challenge'
  const text = readWellKnownFile(config).entries.get('openai-apps-challenge')
  if (text === undefined) {
    const fix =
      'Put the token of the submission form into the file of DRAWBRIDGE_WELL_KNOWN (docs/directories.md).'
    return warn(name, 'There is no openai-apps-challenge yet.', fix)
  }
  const url = `${new URL(config.baseUrl).origin}/.well-known/openai-apps-challenge`
  const answer = await visit(url, runtime)
  if (answer.kind === 'unreachable') {
    return warn(name, `${url} cannot be reached: ${answer.reason}.`, 'Start the server, then run this again.')
  }
  return answer.status === 200 && answer.text === text
    ? ok(name, `${url} answers with the token.`)
    : fail(
        name,
        `${url} does not answer with the token.`,
        'Restart the server; let a proxy in front pass this path on.',
      )
}

function checkAccount({ secondFactor, provider }: ServerConfig): Finding[] {
  const name = 'test-account'
  if (secondFactor === 'require') {
    const fix =
      'Give the reviewers an account whose factor they can use, or ask with SECOND_FACTOR=if-enrolled for the review.'
    return [warn(name, 'SECOND_FACTOR=require: a reviewer cannot sign in with a password alone.', fix)]
  }
  if (provider === 'embedded') {
    return [warn(name, 'The embedded provider is for trying things out.', 'Set DRAWBRIDGE_PROVIDER.')]
  }
  return []
}

function byHand(directory: DirectoryName): Finding {
  const common = 'a test account with sample data that lasts 30 days, and worked examples'
  return directory === 'claude'
    ? note(
        'by-hand',
        'What no program can see: descriptions that only describe, answers below 150,000 characters and within 300 s.',
        `Have ready: ${common}.`,
      )
    : note(
        'by-hand',
        'What no program can see: the reason for each hint, and test cases that hold.',
        `Have ready: ${common}, at least 5 that must work and 3 that must not; --submission prints a skeleton.`,
      )
}
