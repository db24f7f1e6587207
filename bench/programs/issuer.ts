// An issuer for doors that check who calls: an access token that it signed, and its key.
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { listening, ready } from './listening.ts'

const header = { alg: 'RS256', kid: 'bench' }
const { privateKey, publicKey } = await generateKeyPair(header.alg)
const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), ...header, use: 'sig' }] })
const port = await listening((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(keys)
})
const token = new SignJWT({ client_id: 'bench', scope: 'mcp' }).setProtectedHeader(header).setSubject('user')
const signed = token
  .setIssuer(`http://127.0.0.1:${port}`)
  .setAudience('bench')
  .setIssuedAt()
  .setExpirationTime('1h')
ready({ port, accessToken: await signed.sign(privateKey) })
