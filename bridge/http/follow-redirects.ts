import { maxRedirects, redirectTarget } from '@drawbridge/shared/redirect.ts'
import { discard, type HttpClient, type HttpRequest, type HttpResponse } from './http-client.ts'

/**
 * Sends a request again where its response says that the server has it at another path of the same origin, three times at most. Resolves
 * with every other response as it is: a token, code or message is for the origin that was asked.
 */
export async function followRedirects(
  http: HttpClient,
  request: HttpRequest,
  first: HttpResponse,
): Promise<HttpResponse> {
  const { method } = request
  let response = first
  for (let followed = 0; followed < maxRedirects; followed += 1) {
    const { status, headers } = response
    const target = redirectTarget(
      { method, url: new URL(response.url) },
      { status, location: headers['location'] },
    )
    if (target === undefined) break
    discard(response)
    response = await http.send({ ...request, url: target.href })
  }
  return response
}
