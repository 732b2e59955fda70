// The real AWS SDK at our API.
import { SageMakerClient } from '@aws-sdk/client-sagemaker';

const made = [];

// A client with an access key of that role, or with the credentials given.
export async function aws(world, role, options = {}) {
  const { credentials = await accessKey(world, role), ...more } = options;
  return new SageMakerClient({ endpoint: `http://127.0.0.1:${world.port}`, region: 'us-west-2', credentials, ...more });
}

export async function accessKey(world, role) {
  made.push(role);
  const { status, body } = await world.call('POST', '/v1/access-keys', { name: `${role}-${made.length}`, role });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { accessKeyId: body.accessKeyId, secretAccessKey: body.secretAccessKey };
}

export const ACCOUNT = '000000000000';
