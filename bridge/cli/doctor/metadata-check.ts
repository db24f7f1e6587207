import {
  authorizationServerMetadataUrls,
  type AuthorizationServerMetadata,
  parseAuthorizationServerMetadata,
  parseProtectedResourceMetadata,
  type ParsedMetadata,
  protectedResourceMetadataUrls,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import type { HttpClient } from '../../http/http-client.ts'
import { readJson } from '../../http/read-body.ts'
import { coversMore, coversServer } from '../../oauth/discovery/document.ts'
import { OAuthFailure } from '../../oauth/login-port.ts'
import type { OAuthConfig } from '../../oauth/oauth-config.ts'
import type { OAuthPorts } from '../../oauth/server-exchange.ts'
import { checkSignInPage } from '../../oauth/browser/sign-in-page.ts'
import { describeError } from '../failure/failure-text.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const maxBytes = 1_000_000
const timeoutMs = 10_000

/** The documents that say where and how to sign in. `issuer` is undefined when nothing usable was found. */
export async function checkMetadata(
  ports: OAuthPorts,
  config: OAuthConfig,
  challenges: readonly AuthenticateChallenge[],
): Promise<{ findings: Finding[]; issuer: string | undefined }> {
  const { http } = ports
  const { findings, issuer } = await checkResource(http, config, challenges)
  const server = await checkServer(http, issuer)
  findings.push(server.finding)
  if (server.metadata === undefined) return { findings, issuer: undefined }
  findings.push(checkPkce(server.metadata), checkResponseIssuer(server.metadata))
  findings.push(...(await checkPage(server.metadata, config, ports)))
  findings.push(checkRegistration(server.metadata, config))
  return { findings, issuer: server.metadata.issuer }
}

/** Only a login page on another host is told of: a device page is not known before somebody signs in. */
async function checkPage(
  metadata: AuthorizationServerMetadata,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<Finding[]> {
  const { authorization_endpoint: url } = metadata
  if (url === undefined || !URL.canParse(url)) return []
  const { host } = new URL(url)
  try {
    const page = { kind: 'authorization', url } as const
    const foreign = await checkSignInPage(
      page,
      { server: { metadata } },
      config,
      ports,
      AbortSignal.timeout(timeoutMs),
    )
    if (foreign === undefined) return [ok('sign_in_page', `People sign in at ${host}.`)]
    const text = `${metadata.issuer} sends people to ${host} to sign in, and nothing there confirms it.`
    return [warn('sign_in_page', text, 'Sign in only if you know that the two belong together.')]
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    return [fail('sign_in_page', error.message, 'Do not sign in; tell whoever runs the server.')]
  }
}

async function checkResource(
  http: HttpClient,
  { serverUrl, resource: configured }: OAuthConfig,
  challenges: readonly AuthenticateChallenge[],
): Promise<{ findings: Finding[]; issuer: string }> {
  const named = challenges
    .find(({ params }) => params.has('resource_metadata'))
    ?.params.get('resource_metadata')
  const places = named === undefined ? protectedResourceMetadataUrls(serverUrl) : [named]
  const found = await firstDocument(http, places, parseProtectedResourceMetadata)
  const { origin } = new URL(serverUrl)
  if (found.metadata === undefined) {
    const text = `There is none that can be used (${found.reason}); the server is taken for its own authorization server.`
    return { findings: [warn('resource_metadata', text)], issuer: origin }
  }
  const { resource, authorization_servers: servers = [] } = found.metadata
  if (!coversServer(resource, serverUrl)) {
    const text = `It is for ${resource}, and not for ${serverUrl}.`
    const fix = 'Use the URL that it names; or tell whoever runs the server.'
    return { findings: [fail('resource_metadata', text, fix)], issuer: servers[0] ?? origin }
  }
  const [issuer] = servers
  if (issuer === undefined) {
    const text = 'It names no authorization server; the server is taken for its own.'
    return { findings: [warn('resource_metadata', text)], issuer: origin }
  }
  if (configured === undefined && coversMore(resource, serverUrl)) {
    const text = `The server signs in at ${issuer}, for all of ${resource} and not only for ${serverUrl}.`
    return { findings: [warn('resource_metadata', text, 'Set --resource to the one that you mean.')], issuer }
  }
  return { findings: [ok('resource_metadata', `The server signs in at ${issuer}.`)], issuer }
}

async function checkServer(
  http: HttpClient,
  issuer: string,
): Promise<{ finding: Finding; metadata: AuthorizationServerMetadata | undefined }> {
  const found = await firstDocument(
    http,
    authorizationServerMetadataUrls(issuer),
    parseAuthorizationServerMetadata,
  )
  const fix = 'Tell whoever runs the server; or give it a token in the variable DRAWBRIDGE_TOKEN.'
  if (found.metadata === undefined) {
    const text = `${issuer} has no metadata that can be used (${found.reason}).`
    return { finding: fail('authorization_server', text, fix), metadata: undefined }
  }
  const { metadata } = found
  if (metadata.issuer !== issuer && metadata.issuer !== `${issuer}/` && `${metadata.issuer}/` !== issuer) {
    const text = `${issuer} calls itself ${metadata.issuer}: nobody signs in there (RFC 8414 section 3.3).`
    return { finding: fail('authorization_server', text, fix), metadata: undefined }
  }
  if (metadata.issuer !== issuer) {
    const text = `${issuer} and its own name ${metadata.issuer} differ by a slash.`
    return { finding: warn('authorization_server', text, 'Tell whoever runs the server.'), metadata }
  }
  const missing = (['authorization_endpoint', 'token_endpoint'] as const).filter(
    (name) => metadata[name] === undefined,
  )
  if (missing.includes('token_endpoint')) {
    return { finding: fail('authorization_server', `${issuer} names no token_endpoint.`, fix), metadata }
  }
  return { finding: ok('authorization_server', `${issuer} says what it can do.`), metadata }
}

function checkPkce({ code_challenge_methods_supported: methods }: AuthorizationServerMetadata): Finding {
  if (methods?.includes('S256')) return ok('pkce', 'S256 is offered.')
  const text = methods === undefined ? 'It does not say whether it takes PKCE.' : 'It does not offer S256.'
  return fail('pkce', text, 'Tell whoever runs the server: a stolen code is a stolen login without it.')
}

function checkResponseIssuer(metadata: AuthorizationServerMetadata): Finding {
  return metadata.authorization_response_iss_parameter_supported === true
    ? ok('response_issuer', 'Each answer carries the name of the server.')
    : warn('response_issuer', 'Answers carry no name: a mix-up of two servers is found later.')
}

function checkRegistration(metadata: AuthorizationServerMetadata, config: OAuthConfig): Finding {
  if (config.staticClient !== undefined) {
    return ok('registration', `The client ${config.staticClient.clientId} of the configuration is used.`)
  }
  const takesDocuments = metadata.client_id_metadata_document_supported === true
  if (takesDocuments && config.clientMetadataUrl !== undefined) {
    return ok('registration', `The document ${config.clientMetadataUrl} is the client.`)
  }
  if (metadata.registration_endpoint !== undefined)
    return ok('registration', 'The bridge registers itself (RFC 7591).')
  const text = takesDocuments
    ? 'It takes client metadata documents only.'
    : 'It knows only clients that were registered by hand.'
  const fix = takesDocuments
    ? 'Give one with --client-metadata-url.'
    : 'Give one with --static-oauth-client-info.'
  return fail('registration', text, fix)
}

type Found<Document> = { metadata: Document; reason: '' } | { metadata: undefined; reason: string }

/** The first that can be read; otherwise what was wrong with the first that was there at all. */
async function firstDocument<Document>(
  http: HttpClient,
  urls: readonly string[],
  parse: (value: unknown) => ParsedMetadata<Document>,
): Promise<Found<Document>> {
  let reason = ''
  for (const url of urls) {
    const found = await readDocument(http, url, parse)
    if (found.metadata !== undefined) return found
    reason ||= found.reason
  }
  return { metadata: undefined, reason: reason || 'not found' }
}

async function readDocument<Document>(
  http: HttpClient,
  url: string,
  parse: (value: unknown) => ParsedMetadata<Document>,
): Promise<Found<Document>> {
  try {
    const response = await http.send({
      method: 'GET',
      url,
      headers: { Accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status !== 200) {
      response.body.destroy()
      return { metadata: undefined, reason: response.status === 404 ? '' : `${response.status} at ${url}` }
    }
    const parsed = parse(await readJson(response, maxBytes))
    return parsed.kind === 'parsed'
      ? { metadata: parsed.metadata, reason: '' }
      : { metadata: undefined, reason: parsed.reason }
  } catch (error) {
    return { metadata: undefined, reason: describeError(error, { serverUrl: url }).sentences.join(' ') }
  }
}
