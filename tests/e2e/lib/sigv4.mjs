// AWS Signature Version 4 by hand, for requests that no SDK would send. Written from the public algorithm.
import { createHash, createHmac } from 'node:crypto';

const hash = (data) => createHash('sha256').update(data).digest('hex');
const hmac = (key, data) => createHmac('sha256', key).update(data).digest();

// The headers of a signed POST to url. more: headers that are signed as well; at: what the client believes the time is.
export function sign(url, { target, body, key, secret, region = 'us-west-2', service = 'sagemaker', at = new Date(), more = {} }) {
  const { host, pathname } = new URL(url);
  const date = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const day = date.slice(0, 8);
  const headers = { host, 'x-amz-date': date, 'x-amz-target': target, ...more };
  const names = Object.keys(headers).sort();
  const canonical = ['POST', pathname, '', ...names.map((n) => `${n}:${headers[n]}`), '', names.join(';'), hash(body)].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const signing = [day, region, service, 'aws4_request'].reduce(hmac, `AWS4${secret}`);
  const signature = hmac(signing, ['AWS4-HMAC-SHA256', date, scope, hash(canonical)].join('\n')).toString('hex');
  delete headers.host;
  return { ...headers, authorization: `AWS4-HMAC-SHA256 Credential=${key}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}` };
}
