/* engine 8, frozen by test/compat/freeze.ts */
var Kr=Object.defineProperty;var i=(n,e)=>Kr(n,"name",{value:e,configurable:!0});var bn=(n,e)=>{for(var t in e)Kr(n,t,{get:e[t],enumerable:!0})};var Eo={};bn(Eo,{API_KEY_BYTES:()=>St,ARM_OWNERS:()=>oo,ATTEMPT_MOVES:()=>no,BUILT_IN_ROLES:()=>Sd,CALL_KINDS:()=>Ze,CONSENT_MOVES:()=>to,DEFAULT_QUEUE:()=>Ut,DEFAULT_QUEUES:()=>Pd,DELIVERY_CAUSES:()=>Ht,DELIVERY_MOVES:()=>eo,DELIVERY_OUTCOMES:()=>Kt,ERROR_CODES:()=>cd,FAULT_POINTS:()=>pd,GhoulsError:()=>h,LONGEST_RESIDENT_DELAY_MS:()=>qn,MAX_DELAY_SECONDS:()=>X,MAX_DEPTH:()=>tn,MAX_FAILURE_MESSAGE:()=>En,MAX_FAILURE_STACK:()=>Yr,MAX_JOURNAL_BYTES:()=>ue,MAX_VALUE_BYTES:()=>ve,MOVES:()=>an,NonRetryableError:()=>pe,NotDoneError:()=>Pe,ON_EXPIRY:()=>_e,OPEN_DELIVERY:()=>Bt,PERMISSIONS:()=>vn,PUBLICATIONS_BEFORE_ATTENTION:()=>jt,PUBLICATION_DELAYS:()=>Cn,PUBLISHER_GRACE_SECONDS:()=>se,QUEUE_NAME:()=>Ft,QueueSettings:()=>Od,ROLE_NAME:()=>vd,RUN_FAILURE_CODES:()=>Gt,RUN_MOVES:()=>Zr,RandomStream:()=>Xe,SKIP_REASONS:()=>Md,StepFailedError:()=>Se,TimingSettings:()=>$d,UnserializableError:()=>G,VERDICTS:()=>Rn,afterExpiry:()=>Qt,callKey:()=>A,callerOf:()=>qd,canMove:()=>ro,canonicalText:()=>ge,closingsOf:()=>Xt,decideSkip:()=>Jt,delayAfterFailure:()=>Dd,delayAfterPublication:()=>Rd,describeCall:()=>Y,describeFailure:()=>q,diagram:()=>Td,durationMs:()=>z,formatMessage:()=>Ed,formatWake:()=>Id,idempotencyKeyOf:()=>en,identityCodec:()=>Lt,isDuration:()=>ie,isPermission:()=>Pt,isRunId:()=>j,isSameDigest:()=>Qe,isTerminalRun:()=>Ce,judgeDecision:()=>Yt,mintApiKey:()=>ud,namesRole:()=>un,namesSubject:()=>Dn,noFaults:()=>qt,noHint:()=>Cd,notDone:()=>md,parkedAs:()=>Vt,parseApiKey:()=>vt,parseJson:()=>_d,parseMessage:()=>Sn,parseWake:()=>$t,permissionsOf:()=>Nt,principalIssues:()=>Ad,queueUrlVariable:()=>Nd,readSourceAnswer:()=>Wt,resolveBackoff:()=>zt,retryDelayMs:()=>rn,serialize:()=>Q,sha256:()=>C,sourcesOf:()=>ye,sqlStates:()=>v,statesOf:()=>P,terminalStatesOf:()=>dn,wire:()=>Te});import{timingSafeEqual as sd}from"node:crypto";import{crc32 as ad}from"node:zlib";import{createHash as id}from"node:crypto";function C(n){return id("sha256").update(n,"utf8").digest("hex")}i(C,"sha256");var dd=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,It=8,St=It+32;function ud(n){if(n.length!==St)throw new TypeError(`a key is made of ${St} random bytes`);let e=Buffer.from(n.subarray(0,It)).toString("hex"),t=Jr(BigInt(`0x${Buffer.from(n.subarray(It)).toString("hex")}`),43),r=`ghouls_${e}_${t}`,o=`${r}${Br(r)}`;return{keyId:e,text:o,digest:Hr(o)}}i(ud,"mintApiKey");function vt(n){let[,e,t,r]=dd.exec(n)??[];if(!(e===void 0||t===void 0||Br(e)!==r))return{keyId:t,digest:Hr(n)}}i(vt,"parseApiKey");function Hr(n){return C(n)}i(Hr,"digestOfKey");function Qe(n,e){let[t,r]=[Buffer.from(n),Buffer.from(e)];return t.length===r.length&&sd(t,r)}i(Qe,"isSameDigest");function Br(n){return Jr(BigInt(ad(n)),6)}i(Br,"checksumOf");var ld="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function Jr(n,e){let t="";for(let r=n;t.length<e;r/=62n)t=`${ld[Number(r%62n)]}${t}`;return t}i(Jr,"base62");import{createHash as Vr}from"node:crypto";var Ze=["step","consent","sleep","signal"];function A(n){return JSON.stringify([n.epoch,n.scope,n.kind,n.name,n.nth])}i(A,"callKey");function Y(n){let e=n.nth===1?"":` (use ${n.nth})`,t=n.scope===""?"":` in ${n.scope}`;return`${n.kind} "${n.name}"${e}${t}`}i(Y,"describeCall");function en(n,e){return Vr("sha256").update(`ghouls-step-1
${n}
${A(e)}`).digest("hex")}i(en,"idempotencyKeyOf");var Xe=class{static{i(this,"RandomStream")}#e;#t=0;constructor(e,t,r){this.#e=`ghouls-random-1
${JSON.stringify([e,t,r])}`}#n(){return this.#t+=1,Vr("sha256").update(`${this.#e}
${this.#t}`).digest()}random(){return Number(this.#n().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#n().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let t=e.toString("hex");return`${t.slice(0,8)}-${t.slice(8,12)}-${t.slice(12,16)}-${t.slice(16,20)}-${t.slice(20)}`}};var cd=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],h=class extends Error{static{i(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,t,r={}){super(t,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},pe=class extends Error{static{i(this,"NonRetryableError")}constructor(e,t){super(e,t),this.name="NonRetryableError"}},Pe=class extends Error{static{i(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function md(n){return new Pe(n)}i(md,"notDone");var Se=class extends Error{static{i(this,"StepFailedError")}step;tries;failure;constructor(e,t,r){super(`step "${e}" failed after ${t===1?"1 try":`${t} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=t,this.failure=r}},En=2e3,Yr=6e3;function q(n){try{if(n instanceof Error){let t=typeof n.stack=="string"?nn(n.stack,Yr):void 0;return{name:nn(String(n.name),200),message:nn(String(n.message),En),...t===void 0?{}:{stack:t}}}if(typeof n=="string")return{name:"Error",message:nn(`a string was thrown: ${n}`,En)};if(n==null)return{name:"Error",message:`${String(n)} was thrown, not an Error`};let e=JSON.stringify(n,(t,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:nn(`a value that is no Error was thrown: ${e??typeof n}`,En)}}catch{return{name:"Error",message:`a value of type ${typeof n} that cannot be described was thrown`}}}i(q,"describeFailure");function nn(n,e){return n.length<=e?n.toWellFormed():`${n.slice(0,e).toWellFormed()}\u2026 (${n.length-e} more characters)`}i(nn,"bounded");var Ct={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},fd=3650*Ct.d;function ie(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);return e===null?!1:Number(e[1])*Ct[e[2]]<=fd}i(ie,"isDuration");function z(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);if(e===null||!ie(n))throw new h("configuration_invalid",`"${String(n).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*Ct[e[2]]}i(z,"durationMs");var pd=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","worker.before-replay-check","worker.after-replay-check","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","holds.after-select","holds.after-expiry","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],qt=i(()=>{},"noFaults");var tn=100,gd=new Set(["__proto__","constructor","prototype"]),Dt=JSON,yd=JSON.parse;function _d(n){if(hd(n)>tn)throw new h("malformed_json",`the document is nested more than ${tn} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=yd(n,(r,o,s)=>typeof o=="number"?Dt.rawJSON(s.source??String(o)):o)}catch(r){throw new h("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let t=[];if(At(e,"",t),t.length>0)throw new h("invalid_request","the document holds values that cannot be kept unchanged",{issues:t,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(n),canonical:ge(e),member:i(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return ge(e[r])},"member")}}i(_d,"parseJson");function hd(n){let e=0,t=0,r=!1;for(let o=0;o<n.length;o+=1){let s=n.charCodeAt(o);r?s===92?o+=1:s===34&&(r=!1):s===34?r=!0:s===91||s===123?t=Math.max(t,e+=1):(s===93||s===125)&&(e-=1)}return t}i(hd,"nestingOf");function At(n,e,t){if(!(t.length>=20)){if(typeof n=="string"){let r=Qr(n);r!==void 0&&t.push({path:e,message:r});return}if(!(typeof n!="object"||n===null)){if(Dt.isRawJSON(n)){let r=Number(JSON.stringify(n));Math.abs(r)>Number.MAX_SAFE_INTEGER&&t.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(n)){n.forEach((r,o)=>At(r,`${e}/${o}`,t));return}for(let[r,o]of Object.entries(n)){let s=`${e}/${r.slice(0,100).toWellFormed()}`;gd.has(r)&&t.push({path:s,message:"this key is not allowed"});let a=Qr(r);a!==void 0&&t.push({path:s,message:`the key: ${a}`}),At(o,s,t)}}}}i(At,"inspect");function Qr(n){if(n.includes("\0"))return"text with a NUL character is not taken";if(!n.isWellFormed())return"text with a lone surrogate is not taken"}i(Qr,"textProblem");function ge(n){return JSON.stringify(Rt(n))}i(ge,"canonicalText");function Rt(n){if(typeof n!="object"||n===null||Dt.isRawJSON(n))return n;if(Array.isArray(n))return n.map(Rt);let e=Object.entries(n).toSorted(([t],[r])=>t<r?-1:1);return Object.fromEntries(e.map(([t,r])=>[t,Rt(r)]))}i(Rt,"sorted");var G=class extends Error{static{i(this,"UnserializableError")}reason;constructor(e,t){super(t),this.name="UnserializableError",this.reason=e}},ve=1048576,ue=32*1048576;function Q(n,e=ve){if(n===void 0)return;let t;try{t=JSON.stringify(In(n,"",[]))}catch(o){throw o instanceof G?o:new G("unserializable",`it cannot be turned into JSON: ${q(o).message.slice(0,500)}`)}let r=Buffer.byteLength(t);if(r>e)throw new G("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return t}i(Q,"serialize");function In(n,e,t){let r=e===""?"the value":`the value at ${e}`,o=i(d=>new G("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof n){case"string":case"boolean":return n;case"number":if(!Number.isFinite(n))throw o(String(n));return n;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof n}`);case"object":}if(n===null)return null;if(t.includes(n))throw o("a cycle");if(t.length>tn)throw o(`nested more than ${tn} levels deep`);let s=[...t,n];if(n instanceof Date&&Number.isNaN(n.getTime()))throw o("an invalid Date");if("toJSON"in n&&typeof n.toJSON=="function"){let d=n.toJSON("");if(d===n)throw o("a cycle of toJSON");return In(d,e,s)}if(Array.isArray(n))return Array.from(n,(d,u)=>In(d,`${e}/${u}`,s));if(!wd(n))throw o(`a ${n.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(n))u!==void 0&&Object.defineProperty(a,d,{value:In(u,`${e}/${d.slice(0,100)}`,s),enumerable:!0,configurable:!0,writable:!0});return a}i(In,"plain");function wd(n){let e=Object.getPrototypeOf(n);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&n.constructor?.name==="Object"}i(wd,"isPlainObject");var Ot="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",kd=new RegExp(`^${Ot}$`),xd=new RegExp(`^run:(${Ot}):([1-9]\\d{0,8})$`),bd=new RegExp(`^wake:(${Ot})$`);function j(n){return kd.test(n)}i(j,"isRunId");function Ed(n){return`run:${n.runId}:${n.enqueueSeq}`}i(Ed,"formatMessage");function Sn(n){let e=xd.exec(n);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}i(Sn,"parseMessage");function Id(n){return`wake:${n}`}i(Id,"formatWake");function $t(n){return bd.exec(n)?.[1]}i($t,"parseWake");var vn=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","consents:decide","workflows:read"],Sd={admin:vn,operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","workflows:read"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","workflows:read"],viewer:["runs:read","consents:read","workflows:read"]},vd=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function Pt(n){return vn.includes(n)}i(Pt,"isPermission");function Nt(n,e){let t=n.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...t,...n.permissions??[]]);return vn.filter(o=>r.has(o))}i(Nt,"permissionsOf");var Lt={encode:i(n=>Promise.resolve(n),"encode"),decode:i(n=>Promise.resolve(n),"decode")},X=900,Cd={keeps:!1,read:i(()=>Promise.resolve(void 0),"read"),lower:i(()=>Promise.resolve(),"lower"),raise:i(()=>Promise.resolve(!1),"raise")};function qd(n,e){let{tenantId:t,subject:r}=n;return{tenantId:t,subject:r,roles:n.roles,permissions:Nt(n,e)}}i(qd,"callerOf");function Ad(n){let e=typeof n=="object"&&n!==null?n:{},t=i((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>t(r,"is missing")),...Xr(e.roles)?[]:[t("roles","is no list of names")],...e.permissions===void 0||Xr(e.permissions)?[]:[t("permissions","is no list of names")]]}i(Ad,"principalIssues");function Xr(n){return Array.isArray(n)&&n.every(e=>typeof e=="string")}i(Xr,"isTexts");var se=15,Tt=[60,120,300,600,1800,3600],Mt=[5,10,30,60,120,300],jt=5;function Rd(n){return Tt[Math.min(Math.max(n,1),Tt.length)-1]}i(Rd,"delayAfterPublication");function Dd(n){return Mt[Math.min(Math.max(n,1),Mt.length)-1]}i(Dd,"delayAfterFailure");var Cn={afterSuccess:Tt,afterFailure:Mt};var qn=1e4;function zt(n={}){let e=z(n.initial??"200ms"),t={initialMs:e,factor:n.factor??2,maxMs:n.max===void 0?Math.max(qn,e):z(n.max)};if(!(t.factor>=1&&t.factor<=100))throw new h("configuration_invalid",`a backoff factor of ${String(n.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return t}i(zt,"resolveBackoff");function rn(n,e,t){let r=Math.min(n.maxMs,n.initialMs*n.factor**(e-2));return Math.round(r/2+r/2*t)}i(rn,"retryDelayMs");var Gt=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired"];import*as le from"zod";var on=le.string().refine(n=>ie(n),'write a whole number and a unit, such as "90s" or "15m"'),Ft=/^[a-z][a-z0-9-]{0,31}$/,Od=le.strictObject({batchSize:le.int().min(1).max(10).default(5),concurrency:le.int().min(1).max(1e3).default(2),functionTimeout:on.refine(n=>!ie(n)||z(n)>=5e3&&z(n)<=432e5,'from "5s" to "12h"').default("15m")}),$d=le.strictObject({lease:on.default("120s"),beat:on.default("30s"),actsMargin:on.default("60s"),maxLosses:le.int().min(1).max(100).default(3),deployOverlap:on.default("1h")}),Pd={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},Ut="runs";function Nd(n){return`GHOULS_QUEUE_${n.toUpperCase().replaceAll("-","_")}_URL`}i(Nd,"queueUrlVariable");import*as Z from"zod";var Ld=Z.discriminatedUnion("outcome",[Z.object({outcome:Z.literal("pending")}),Z.object({outcome:Z.enum(["grant","deny"]),by:Z.string().min(1).max(200),comment:Z.string().max(4e3).optional()})]);function Wt(n){let{data:e,error:t}=Ld.safeParse(n);if(t!==void 0){let[a]=t.issues,d=a?.path.join(".")??"";throw new Error(`it answered what is no decision: ${d===""?"":`${d}: `}${a?.message}`)}if(e.outcome==="pending")return{outcome:e.outcome};let{outcome:r,by:o,comment:s}=e;return{outcome:r,by:o,...s===void 0?{}:{comment:s}}}i(Wt,"readSourceAnswer");var sn=["QUEUED","FAILING","CANCELLING"],Zr={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:sn,AWAITING_DELEGATE:sn,AWAITING_CHILD:sn,AWAITING_SIGNAL:sn,AWAITING_TIMER:sn,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},eo={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},An=["SUCCEEDED","FAILED","CANCELLED"],no={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...An,"UNCERTAIN"],SUBMITTED:["RUNNING",...An,"UNCERTAIN"],RUNNING:[...An,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...An],SUCCEEDED:[],FAILED:[],CANCELLED:[]},to={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},an={run:Zr,delivery:eo,attempt:no,consent:to},Kt=["done","failed","parked","continued","lost","given_back","refused"],Ht=["admitted","resumed","continued","recovered","contain"];function P(n){return Object.keys(an[n])}i(P,"statesOf");function ro(n,e,t){return an[n][e]?.includes(t)??!1}i(ro,"canMove");function ye(n,e){return P(n).filter(t=>ro(n,t,e))}i(ye,"sourcesOf");function dn(n){return P(n).filter(e=>(an[n][e]??[]).length===0)}i(dn,"terminalStatesOf");var Bt=P("delivery").filter(n=>!dn("delivery").includes(n));function Ce(n){return dn("run").includes(n)}i(Ce,"isTerminalRun");function v(n){for(let e of n)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return n.map(e=>`'${e}'`).join(", ")}i(v,"sqlStates");function Td(n){let e=Object.entries(an[n]).flatMap(([t,r])=>r.length===0?[`    ${t} --> [*]`]:r.map(o=>`    ${t} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${P(n)[0]}`,...e].join(`
`)}i(Td,"diagram");var Md=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],jd=43e3,Ne=i(n=>({reason:n,deleteMessage:!0,retryInSeconds:0}),"gone"),Le=i((n,e)=>({reason:n,deleteMessage:!1,retryInSeconds:Math.min(jd,Math.max(1,Math.ceil(e)))}),"back");function Jt(n){return n===void 0?Le("unknown",30):Ce(n.runStatus)?Ne("terminal"):n.deliveryStatus==="SETTLED"?Ne("settled"):n.deliveryStatus==="FENCED"?Ne("fenced"):n.seq<n.currentSeq?Ne("superseded"):n.deliveryStatus==="CLAIMED"?Le("claimed",Math.max(5,n.leaseEndsInSeconds??30)):n.deliveryStatus==="HELD"?Le("held",30):n.quarantined?Ne("quarantined"):n.paused?Ne("paused"):n.runStatus!=="QUEUED"&&n.cause!=="contain"?Le("ending",30):n.dueInSeconds>0?Le("early",n.dueInSeconds):Le("contended",2)}i(Jt,"decideSkip");var _e=["expire","grant","deny"],Rn=["grant","deny"],oo=["consent","signal","timer"],zd={consent:"AWAITING_CONSENT",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function Vt(n){let e=oo.find(t=>n.includes(t));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return zd[e]}i(Vt,"parkedAs");function Yt(n,e,t=!1){if(!t){if(!Gd(n.deciders,e))return{kind:"not_a_decider"};if(e.subject===n.requestedBy&&!n.requesterMayDecide)return{kind:"requester"}}if(e.digest!==n.requestDigest)return{kind:"changed"};let r=n.decisions.find(({by:s})=>s===e.subject);if(n.status==="PENDING"&&n.expired)return{kind:"expired"};if(r?.verdict===e.verdict)return{kind:"repeated",status:n.status};if(n.status!=="PENDING")return{kind:"closed",status:n.status,by:n.closedBy??"unknown"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=n.decisions.filter(({verdict:s})=>s==="grant").length+1;return{kind:"counts",becomes:t||o>=n.quorum?"GRANTED":"PENDING"}}i(Yt,"judgeDecision");function un(n){return n.startsWith("role:")}i(un,"namesRole");function Dn(n,e){return!un(n)&&(n===e||n===`user:${e}`)}i(Dn,"namesSubject");function Gd(n,e){return n.some(r=>Dn(r,e.subject))||e.roles.some(r=>n.includes(`role:${r}`))}i(Gd,"isDecider");function Qt(n){return n==="grant"?"GRANTED":n==="deny"?"DENIED":"EXPIRED"}i(Qt,"afterExpiry");function Xt(n){let e=new Set;return n.flatMap(t=>{let{armId:r,consent:o}=t;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:c}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:c})}]}let s=t.signals?.find(({signalId:d})=>!e.has(d));if(s!==void 0){e.add(s.signalId);let{signalId:d,from:u,at:l,payload:c}=s;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:c,from:u,at:l})}]}if(!t.due)return[];if(t.retry)return[{armId:r,resultText:null}];let a=t.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}i(Xt,"closingsOf");var Te={};bn(Te,{Admitted:()=>fo,BatchAdmitted:()=>Wd,BatchItem:()=>mo,BatchOutcome:()=>po,BatchRequest:()=>Ud,Cancelled:()=>Bd,Cleared:()=>Vd,ConsentPage:()=>Qd,ConsentSummary:()=>_o,ConsentView:()=>Yd,ContainmentItem:()=>ko,Decided:()=>Zd,DecisionRequest:()=>Xd,IdempotencyKey:()=>lo,MAX_BATCH:()=>On,MAX_BODY_BYTES:()=>so,MAX_PAGE:()=>ao,OpenWait:()=>Zt,Problem:()=>du,ReasonRequest:()=>Hd,Released:()=>Kd,Resolved:()=>Jd,RunError:()=>wo,RunPage:()=>iu,RunRequest:()=>co,RunSummary:()=>er,RunView:()=>ou,SIGNAL_NAME:()=>eu,SIGNAL_NAME_RULE:()=>nu,SignalRequest:()=>tu,Signalled:()=>ru,Timeline:()=>su,TimelineEntry:()=>xo,WORKFLOW_NAME:()=>uo,WorkflowList:()=>au,WorkflowRef:()=>ln,WorkflowView:()=>bo});import*as F from"zod";import*as io from"zod";var so=1048576,On=100,ao=200,R=io.iso.datetime();import*as E from"zod";var uo=/^[a-z0-9][a-z0-9._-]{0,99}$/i,Fd=E.string().regex(uo,'letters, digits, ".", "_" and "-", at most 100'),lo=E.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),co=E.strictObject({workflow:Fd.optional(),version:E.int().min(1).max(1e6).optional(),input:E.unknown().optional(),queue:E.string().regex(Ft).optional(),priority:E.int().min(0).max(9).optional(),agent:E.string().min(1).max(200).optional(),held:E.boolean().optional(),holdFor:E.string().refine(ie,'such as "10m"').optional(),startAfter:E.string().refine(n=>ie(n)||R.safeParse(n).success,'such as "2h" or "2030-01-31T08:00:00Z"').optional()}),mo=co.extend({idempotencyKey:lo.optional()}),Ud=E.strictObject({runs:E.array(mo).min(1).max(On)}),ln=E.object({name:E.string(),version:E.int(),digest:E.string()}),fo=E.object({runId:E.string(),created:E.boolean(),status:E.enum(P("run")),enqueueSeq:E.int(),workflow:ln,queue:E.string(),priority:E.int(),held:E.boolean(),startsAt:R.nullable()}),po=E.discriminatedUnion("outcome",[E.object({outcome:E.literal("admitted"),run:fo}),E.object({outcome:E.literal("conflict"),idempotencyKey:E.string(),detail:E.string()})]),Wd=E.object({runs:E.array(po)}),Kd=E.object({runId:E.string(),enqueueSeq:E.int(),released:E.boolean()});import*as N from"zod";var Hd=N.strictObject({reason:N.string().trim().min(1).max(1e3)}),Bd=N.object({runId:N.string(),cancelled:N.boolean(),status:N.enum(P("run"))}),Jd=N.object({runId:N.string(),item:N.string(),openItems:N.int(),status:N.enum(P("run"))}),Vd=N.object({runId:N.string(),cleared:N.boolean(),status:N.enum(P("run"))});import*as p from"zod";import*as x from"zod";var go={consentId:x.string(),runId:x.string(),workflow:x.string(),title:x.string(),status:x.enum(P("consent")),digest:x.string(),deciders:x.array(x.string()),quorum:x.int(),requestedBy:x.string(),requesterMayDecide:x.boolean(),onExpiry:x.enum(_e),source:x.string().nullable(),createdAt:R,expiresAt:R.nullable(),closedAt:R.nullable(),closedBy:x.string().nullable()},yo={by:x.string(),verdict:x.enum(Rn),at:R},Yd=x.object({...go,detail:x.unknown(),decisions:x.array(x.object({...yo,comment:x.string().nullable()}))}),_o=x.object({...go,decisions:x.array(x.object(yo)),problem:x.string().nullable()}),Qd=x.object({consents:x.array(_o),nextCursor:x.string().nullable()}),Xd=x.strictObject({verdict:x.enum(Rn),digest:x.string().min(1).max(200),comment:x.string().trim().min(1).max(4e3).optional()}),Zd=x.object({consentId:x.string(),runId:x.string(),status:x.enum(P("consent")),repeated:x.boolean(),resumed:x.boolean()}),eu=/^(?!\.{1,2}$)[\x21-\x7e][\x20-\x7e]{0,199}$/,nu='printable ASCII of 1 to 200 characters that begins with no space, and neither "." nor ".."',tu=x.strictObject({payload:x.unknown().optional()}),ru=x.object({runId:x.string(),signalId:x.string(),repeated:x.boolean(),resumed:x.boolean()}),Zt=x.object({kind:x.enum(Ze),name:x.string(),dueAt:R.nullable(),consentId:x.string().nullable()});var ho=p.object({reason:p.string(),at:R}),er=p.object({runId:p.string(),workflow:ln,status:p.enum(P("run")),queue:p.string(),priority:p.int(),agent:p.string().nullable(),idempotencyKey:p.string().nullable(),requestedBy:p.string(),enqueueSeq:p.int(),steps:p.int(),errorCode:p.string().nullable(),attention:ho.nullable(),quarantine:ho.nullable(),pausedAt:R.nullable(),deadlineAt:R.nullable(),createdAt:R,startsAt:R.nullable(),startedAt:R.nullable(),finishedAt:R.nullable()}),wo=p.object({code:p.enum(Gt),name:p.string(),message:p.string(),stack:p.string().optional(),step:p.string().optional()}),ko=p.object({id:p.string(),kind:p.enum(["worker","effect"]),subject:p.string(),enqueueSeq:p.int(),overAt:R.nullable(),createdAt:R,acknowledgedAt:R.nullable(),acknowledgedBy:p.string().nullable(),acknowledgement:p.string().nullable()}),ou=er.extend({waits:p.array(Zt),input:p.unknown(),output:p.unknown(),error:wo.nullable(),containment:p.array(ko)}),iu=p.object({runs:p.array(er),nextCursor:p.string().nullable()}),xo=p.discriminatedUnion("kind",[p.object({kind:p.literal("admitted"),at:R}),p.object({kind:p.literal("delivery"),at:R,enqueueSeq:p.int(),cause:p.enum(Ht),status:p.enum(P("delivery")),dueAt:R}),p.object({kind:p.literal("published"),at:R,enqueueSeq:p.int(),publications:p.int()}),p.object({kind:p.literal("claimed"),at:R,enqueueSeq:p.int(),worker:p.string()}),p.object({kind:p.literal("step"),at:R,enqueueSeq:p.int(),ordinal:p.int(),call:p.enum(Ze),name:p.string(),nth:p.int(),outcome:p.enum(["ok","error"]),tries:p.int(),startedAt:R}),p.object({kind:p.literal("worker_ended"),at:R,enqueueSeq:p.int(),worker:p.string(),how:p.string()}),p.object({kind:p.literal("settled"),at:R,enqueueSeq:p.int(),outcome:p.enum(Kt)}),p.object({kind:p.literal("fenced"),at:R,enqueueSeq:p.int()}),p.object({kind:p.literal("finished"),at:R,status:p.enum(P("run")),errorCode:p.string().nullable()})]),su=p.object({runId:p.string(),status:p.enum(P("run")),entries:p.array(xo)}),bo=ln.extend({queue:p.string(),onWorkerLoss:p.enum(["resume","fail"]),inputSchema:p.unknown(),outputSchema:p.unknown()}),au=p.object({workflows:p.array(bo)});var du=F.object({type:F.string(),title:F.string(),status:F.int(),detail:F.string(),fix:F.string().optional(),requestId:F.string(),errors:F.array(F.object({path:F.string(),message:F.string()})).optional()});var Ps={};bn(Ps,{DEFAULT_APPLICATION_ROLE:()=>xr,DEFAULT_SCHEMA:()=>Me,DRIVERS:()=>$o,LedgerError:()=>$,MAX_BUFFERED_SIGNALS:()=>_n,createRoles:()=>$s,executorOn:()=>Nn,inCallersTransaction:()=>Ln,migrate:()=>Ds,migrationSql:()=>Rs,openLedger:()=>vs,readRunsById:()=>$n,readRunsByKey:()=>ze,rolesSql:()=>Er});var Io=new Map,Me="ghouls",uu=/^[a-z_][a-z0-9_]{0,39}$/;function _(n,e){return So({name:n,text:vo(n,e),writes:!1})}i(_,"readStatement");function g(n,e){return So({name:n,text:vo(n,e),writes:!0})}i(g,"writeStatement");function So(n){if(Io.has(n.name))throw new TypeError(`two statements are called ${n.name}`);return Io.set(n.name,n),n}i(So,"listed");function vo(n,e){return`/* ${n} */
${e.trim()}`}i(vo,"tagged");function je(n,e){if(!uu.test(n))throw new TypeError(`${e} "${n.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}i(je,"assertIdentifier");function qe(n,e){return je(e,"the schema name"),n.replace(/\bghouls\./g,`${e}.`)}i(qe,"bindSchema");function f(n){let e=i((a,d)=>new TypeError(`column ${a} is ${typeof n[a]}, ${d} was expected`),"fail"),t=i(a=>{let d=n[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=i(a=>{let d=n[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=i(a=>{let d=n[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),s=i(a=>d=>n[d]===null?null:a(d),"orNull");return{text:t,textOrNull:s(t),texts:i(a=>{let d=n[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:s(r),boolean:i(a=>{let d=n[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:s(o)}}i(f,"rows");var lu=g("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.*, greatest(ghouls.clock(), t.start_at, ghouls.clock() + t.start_ms * interval '1 millisecond') as starts_at
  from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[], $21::double precision[], $22::timestamptz[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, start_ms, start_at, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss, starts_at)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    q.starts_at + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss,
    case when q.starts_at > ghouls.clock() then q.starts_at end
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, q.starts_at,
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then
      q.starts_at + case when q.starts_at - ghouls.clock() <= $23::double precision * interval '1 second'
        then $19::double precision else 0 end * interval '1 second'
    end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select delivery.run_id, case when q.starts_at > ghouls.clock() then q.starts_at end as starts_at,
  extract(epoch from q.starts_at - ghouls.clock())::double precision as due_in
from delivery
join request q on q.run_id = delivery.run_id`),Co=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished, run.starts_at,
  greatest(0, extract(epoch from d.due_at - ghouls.clock()))::double precision as due_in`,cu=_("runs.by-key",`
select ${Co}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),mu=_("runs.by-id",`
select ${Co}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function nr(n,e,t){let r=i(s=>e.map(s),"column"),o=await n.run(lu,[String(t.lockTimeoutMs),r(s=>s.tenantId),r(s=>s.runId),r(s=>s.idempotencyKey),r(s=>s.requestDigest),r(s=>s.workflow.name),r(s=>s.workflow.version),r(s=>s.workflow.digest),r(s=>s.queue),r(s=>s.priority),r(s=>s.agent),r(s=>s.requestedBy),r(s=>JSON.stringify(s.requestedRoles)),r(s=>s.inputText),r(s=>s.inputDigest),r(s=>s.deadlineMs),r(s=>s.held),r(s=>s.holdMs),t.publisherGraceSeconds,r(s=>s.onWorkerLoss),r(({startAfter:s})=>s!==null&&"ms"in s?s.ms:null),r(({startAfter:s})=>s!==null&&"at"in s?s.at:null),X]);return new Map(o.map(s=>{let a=f(s);return[a.text("run_id"),{startsAt:a.dateOrNull("starts_at"),startsInSeconds:a.number("due_in")}]}))}i(nr,"insertRunsIfKeyIsNew");async function ze(n,e){return(await n.run(cu,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(qo)}i(ze,"readRunsByKey");async function $n(n,e){return(await n.run(mu,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(qo)}i($n,"readRunsById");function qo(n){let e=f(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished"),dueInSeconds:e.number("due_in"),startsAt:e.dateOrNull("starts_at")}}i(qo,"admittedRun");var fu=g("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), released as (
  update ghouls.deliveries d
  set status = 'PENDING', due_at = greatest(d.due_at, ghouls.clock()),
    next_publication_at = greatest(d.due_at, ghouls.clock())
      + case when d.due_at - ghouls.clock() <= $4::double precision * interval '1 second'
        then $3::double precision else 0 end * interval '1 second'
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
    and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
  returning d.tenant_id, d.run_id, d.due_at
)
update ghouls.runs run
set starts_at = released.due_at,
  deadline_at = run.deadline_at + (released.due_at - coalesce(run.starts_at, run.created_at))
from released
where run.tenant_id = released.tenant_id and run.run_id = released.run_id
returning run.run_id`);async function Ao(n,e,t){return(await n.run(fu,[e.tenantId,e.runId,t,X])).length===1}i(Ao,"releaseDeliveryIfHeld");var gu={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},yu={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function _u(n,e){let t=(e instanceof h?e.fix:void 0)??yu[n];return t===void 0?{}:{fix:t}}i(_u,"fixOf");var $=class extends h{static{i(this,"LedgerError")}kind;sqlState;statement;constructor(e,t,r,o){super(gu[e],`the ledger could not carry out ${t} (${e}${r?`, SQLSTATE ${r}`:""})`,{..._u(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=t}},Ro=new Set(["42P05","26000"]),hu=new Set(["40001","40P01",...Ro]),wu=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),ku=new Set(["42P01","42703","42883","3F000"]);function he(n,e){let t=cn(n);return t===void 0?{kind:e?"unknown":"unavailable",sqlState:t}:hu.has(t)||Pn(n)?{kind:"retry",sqlState:t}:t==="55P03"?{kind:"busy",sqlState:t}:wu.has(t)?{kind:"unavailable",sqlState:t}:t.startsWith("57P")||t.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:t}:ku.has(t)?{kind:"schema",sqlState:t}:{kind:"defect",sqlState:t}}i(he,"classify");function Do(n){return n!==void 0&&Ro.has(n)}i(Do,"isNameRefused");function Oo(n){return/^(?:57P|08)/.test(n)||n==="25P03"||n==="25P04"}i(Oo,"hasEnded");function Pn(n){return cn(n)==="0A000"&&n instanceof Error&&"routine"in n&&n.routine==="RevalidateCachedQuery"}i(Pn,"isPlanStale");function cn(n){if(typeof n!="object"||n===null||!("code"in n))return;let{code:e}=n;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}i(cn,"sqlStateOf");var xu=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),bu=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function Nn(n,e){return{run:i(async(t,r)=>{try{return(await n.query(qe(t.text,e),[...r])).rows}catch(o){let{kind:s,sqlState:a}=he(o,!1);throw new $(s,t.name,a,o)}},"run")}}i(Nn,"executorOn");async function Ln(n,e){let[t]=await n.run(xu,[]),r=String(t?.isolation);if(r!=="read committed")throw new h("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(t?.begins_transaction===!0)throw new h("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await n.run(bu,[String(t?.lock_timeout)]),o}i(Ln,"inCallersTransaction");var $o=["pg","neon"];function Tn(n){n.on("connect",e=>{e.on("error",()=>{})}),n.on("error",()=>{})}i(Tn,"surviveLostConnections");import{createHash as Du}from"node:crypto";import{parseIntoClientConfig as Eu}from"pg-connection-string";function Po(n){if(!/^postgres(?:ql)?:\/\//i.test(n))throw tr(/^[a-z][a-z\d+.-]*:\/\//i.test(n)?"has another scheme than postgres://":"is no URL");let e;try{e=Eu(n)}catch(t){throw tr(Iu(n,t))}if(e.port!==void 0&&!Lo(e.port))throw tr(No);return e}i(Po,"addressOf");var No="has a port that is no number from 1 to 65535";function Iu(n,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let t=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(n)?.[1]??"",r=/:([^:\]]*)$/.exec(t)?.[1];return r!==void 0&&r!==""&&!Lo(Number(r))?No:"cannot be read"}i(Iu,"whyUnreadable");function Lo(n){return Number.isInteger(n)&&n>=1&&n<=65535}i(Lo,"isPort");function tr(n){return new h("configuration_invalid",`the connection string ${n}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}i(tr,"invalid");async function To(n){let e=await import("@neondatabase/serverless");class t extends e.Client{static{i(this,"Client")}constructor(o){super(o),n!==void 0&&(this.neonConfig.wsProxy=n,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return r=>{let o=new e.Pool(r);return o.Client=t,Tn(o),o}}i(To,"neonPool");import Su from"pg";var Mo=i(n=>{let e=new Su.Pool(n);return Tn(e),e},"openPgPool");var Mn=class{static{i(this,"Patience")}#e;#t;#n=new AbortController;constructor(e,t){this.#e=t,this.#t=setTimeout(()=>this.#n.abort(),e)}get over(){return this.#n.signal.aborted}end(){clearTimeout(this.#t)}async allows(e,t=400){if(this.over)return!1;let r=Math.min(t,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:t}=this.#n,r,o=new Promise(s=>{r=i(()=>s(void 0),"stop"),t.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&t.removeEventListener("abort",r)}}};var vu=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),Cu=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function jo(n){if(rr(n))return!1;let e=cn(n);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):n instanceof Error?"code"in n&&typeof n.code=="string"?vu.has(n.code):Cu.test(n.message):!0}i(jo,"mayComeSoon");var qu=/\bauthentication failed\b/i;function rr(n){let e=cn(n);return e==="08P01"?n instanceof Error&&qu.test(n.message):e==="28P01"||e==="28000"}i(rr,"isRefused");var Au=2e3,Ge=class{static{i(this,"Connections")}#e;#t;#n;#r;#o;#i=new Set;#a;constructor(e){this.#e=e,this.#t=e.maxConnections??2,this.#n=e.chance??(()=>.5)}patience(){return new Mn(this.#e.connectPatienceMs??1e4,this.#n)}async connect(e,t){let r=0,o=new Error("no connection in time");for(let s=1;;s+=1){let a,d=!1;try{a=await this.#u(this.#f(),t),d=this.#m(a);let u=await this.#l(a,t);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&rr(u)){if(r+=1,await this.#u(this.#_(a),t).catch(or(e))&&r===1||this.#s&&await t.allows(s,Au))continue;return or(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#m(a))&&jo(u)&&await t.allows(s))continue}return or(e)(o)}}async#u(e,t){if(!this.#s)return e;let r=await t.bound(e.then(o=>({value:o})));if(r===void 0)throw Ru();return r.value}get#s(){return typeof this.#e.connectionString!="string"}#m(e){return e.held>=this.#t}async#l(e,t){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#h(e)}),o=await t.bound(r);if(o===void 0){r.then(s=>s.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:i(s=>o.query(s),"query"),release:i(s=>{e.held-=1,o.release(s)},"release")}}async#f(){this.#d(),this.#r??=this.#g().then(t=>this.#p(t));let e=this.#r;try{return await e}catch(t){throw this.#r===e&&(this.#r=void 0),t}}async#g(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let t=this.patience();try{return await this.#u(e(),t)}finally{t.end()}}async#p(e){let{driver:t="pg",neonProxy:r,password:o}=this.#e,s=Po(e),a=t==="neon"?await To(r):Mo;this.#d();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...s,...o===void 0?{}:{password:o},max:this.#t,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=t==="pg"&&!/-pooler\b/.test(s.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#i.add(l),l}async#_(e){return e.state!=="current"?!0:this.#s?(this.#o??=this.#y(e).finally(()=>{this.#o=void 0}),this.#o):!1}async#y(e){let t=await this.#g();if(t===e.connectionString)return!1;let r=await this.#p(t);return e.state="replaced",this.#r=Promise.resolve(r),this.#h(e),!0}#h(e){e.state!=="replaced"||e.waiting>0||this.#k(e)}#k(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#i.delete(e)),e.ending}#d(){if(this.#a!==void 0)throw new Error("the ledger has been closed")}close(){return this.#a??=this.#x(),this.#a}async#x(){await Promise.all([...this.#i].map(e=>this.#k(e)))}};function Ru(){return new Error("the connection string was not fetched in time")}i(Ru,"unfetched");function or(n){return e=>{throw e instanceof $?e:new $("unavailable",n,he(e,!1).sqlState,e)}}i(or,"unavailable");var Ou=4,jn=class{static{i(this,"Database")}schema;#e;#t;#n;#r;#o=new Map;#i=!1;constructor(e){this.schema=e.schema??Me,qe("",this.schema),this.#t=e.preparedStatements,this.#n=e.faults??qt,this.#r=e.chance??(()=>.5),this.#e=new Ge(e)}async run(e,t){let r=this.#e.patience(),o=!1,s=!0,a=i(d=>o&&d instanceof $&&d.kind!=="unknown"?new $("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#a(u,e,t,s)}catch(l){if(l instanceof $&&Pn(l.cause)&&(s=!1),o||=l instanceof $&&l.kind==="unknown",!(l instanceof $)||!Go(l)||d>=Fo(l))throw a(l);await this.#f(d)}}}finally{r.end()}}async#a(e,t,r,o){let s=!0;try{let a=await this.#u(e,t,r,o);return s=!1,a}catch(a){throw s=zo(a),a}finally{e.release(s)}}async#u(e,t,r,o=!0){try{await this.#n("ledger.before-statement",t.name);let{text:s,name:a}=this.#s(t),d=o&&!this.#i&&(this.#t??e.keepsNames),u=await e.query({text:s,values:[...r],...d?{name:a}:{}});return await this.#n("ledger.after-statement",t.name),u.rows}catch(s){let{kind:a,sqlState:d}=he(s,t.writes);throw Do(d)&&(this.#i=!0),new $(a,t.name,d,s)}}#s(e){let t=this.#o.get(e.name);if(t===void 0){let r=qe(e.text,this.schema),o=Du("sha256").update(r).digest("hex").slice(0,12);t={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,t)}return t}async transaction(e,t){let r=await this.#m(e),o=!0;try{let s=await t({run:i((a,d)=>this.#u(r,a,d),"run")});return await this.#l(r,e),o=!1,s}catch(s){throw o=zo(s)||await r.query("rollback").then(()=>!1,()=>!0),s}finally{r.release(o)}}async#m(e){let t=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,t);try{return await o.query("begin isolation level read committed"),o}catch(s){o.release(!0);let{kind:a,sqlState:d}=he(s,!1),u=new $(a,`${e}: begin`,d,s);if(!Go(u)||r>=Fo(u))throw u;await this.#f(r)}}}finally{t.end()}}async#l(e,t){let r;try{await this.#n("ledger.before-commit",t),r=(await e.query("commit")).command,await this.#n("ledger.after-commit",t)}catch(o){let{kind:s,sqlState:a}=he(o,!0);throw new $(s,`${t}: commit`,a,o)}if(r!=="COMMIT")throw new $("defect",`${t}: commit answered ${r}`,void 0,void 0)}#f(e){let t=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,t))}async close(){await this.#e.close()}};function zo(n){return n instanceof $?n.sqlState===void 0||Oo(n.sqlState)||Pn(n.cause):!1}i(zo,"isOfNoUse");function Go(n){return n.kind!=="defect"&&n.kind!=="schema"&&n.kind!=="busy"}i(Go,"isRepeatable");function Fo(n){return n.cause instanceof Error&&/read timeout/i.test(n.cause.message)||n.sqlState==="57014"?2:Ou}i(Fo,"triesOf");var Uo={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var Wo={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var Ko={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var Ho={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var Bo={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var Jo={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var Vo={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var Yo={number:8,name:"starts",sql:`
alter table ghouls.runs add column starts_at timestamptz;
comment on column ghouls.runs.starts_at is
  'What now() of its code begins with: the start that it was given, its release from hold, or its last restart; null: its admission.';
`};var Fe=[Uo,Wo,Ko,Ho,Bo,Jo,Vo,Yo];var $u=[ee("integrity","open deliveries agree with their run","doctor_open_deliveries"),ee("integrity","working runs have an open delivery","doctor_working_runs"),ee("integrity","terminal runs have nothing open","doctor_terminal_runs"),ee("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),ee("integrity","journals are as long as their runs say","doctor_journals"),ee("integrity","runs know how many items are open","doctor_open_items"),ee("integrity","ending runs have something left to contain","doctor_endings"),ee("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),ee("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),ee("attention","no lost claim waits for its judgement","doctor_lost_claims"),ee("attention","no run is quarantined","doctor_quarantined_runs"),ee("attention","no open run asks for a person","doctor_runs_with_attention")];function ee(n,e,t){return{kind:n,check:e,statement:_(t.replace("_",".").replaceAll("_","-"),`select * from ghouls.${t}
limit 100`)}}i(ee,"view");var Pu=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function ir(n){let[e]=await n.run(Pu,[]);return{applied:Number(e?.version??0),known:Fe.at(-1)?.number??0}}i(ir,"readSchemaVersion");async function Qo(n){let e=await ir(n),t=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:s}of $u){let a=await n.run(s,[]);t.push({check:r,kind:o,ok:a.length===0,rows:a})}return t}i(Qo,"examine");var Nu=g("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function Ue(n,e,t){await n.run(Nu,[e.tenantId,e.runId,t.actor,t.act,t.subject,t.reason])}i(Ue,"recordAudit");var we="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var Lu=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function T(n){return`${Lu}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${v(n)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}i(T,"heldBy");var M=["RUNNING","AWAITING_HARDWARE"];function mn(n,e){return Xo(n,ye("run",e))}i(mn,"runMayBecome");function zn(n,e){return Xo(n,ye("delivery",e))}i(zn,"deliveryMayBecome");function Xo(n,e){return e.length===0?"false":`${n} in (${v(e)})`}i(Xo,"oneOf");var L=["COMPLETING","FAILING","CANCELLING"];var Tu=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function O(n,e){let t=await n.run(Tu,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(t.map(r=>[f(r).text("run_id"),f(r).text("status")]))}i(O,"lockRuns");var Mu=g("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${v(L)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${v(Bt.filter(n=>n!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function W(n,e){let[t]=await n.run(Mu,[e.tenantId,e.runId]);return t===void 0?null:f(t).text("status")}i(W,"endRunIfContained");var ju=g("deliveries.yield",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $10, settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, greatest(moved.settled_at, $11::timestamptz),
  case when $11::timestamptz is null then moved.settled_at + $9::double precision * interval '1 second'
    else greatest(moved.settled_at, $11::timestamptz) end,
  moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),zu=g("deliveries.give-back",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),Gu=g("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),Fu=g("runs.clear-absence",`
with ${T(M)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),Uu=g("runs.adopt",`
with ${T(M)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),Wu=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Ku=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function Gn(n,e,t,{idle:r,publisherGraceSeconds:o,dueAt:s}){let{workflowDigest:a,journalLength:d,journalDigest:u}=t,l=s===void 0?"continued":"given_back",[c]=await n.run(ju,[...fn(e),a,d,u,r,o,l,s??null]);return c===void 0?Fn(n,e,l):ke(c)}i(Gn,"yieldDeliveryIfClaimed");async function Zo(n,e,t,r=!1){let[o]=await n.run(zu,[...fn(e),t,r]);return o===void 0?Fn(n,e,"given_back"):ke(o)}i(Zo,"giveDeliveryBackIfClaimed");async function ei(n,e){return(await n.run(Fu,fn(e))).length===1}i(ei,"clearAbsenceIfClaimed");async function ni(n,e,t,{journalLength:r,journalDigest:o}){return(await n.run(Uu,[...fn(e),[e.workflow.digest,t.digest],t.version,t.digest,e.checkpointGeneration!==null,r,o])).length===1}i(ni,"adoptIfClaimed");async function ti(n,e,t){let[r]=await n.run(Ku,[e.tenantId,e.runId,t]);if(r===void 0)return null;let o=f(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}i(ti,"readCheckpoint");async function Fn(n,e,t){let[r]=await n.run(Wu,[...fn(e),t]);return r===void 0?null:ke(r)}i(Fn,"handedOver");function ke(n){return{enqueueSeq:f(n).number("seq"),queue:f(n).text("queue")}}i(ke,"nextOf");function fn(n){return[n.tenantId,n.runId,n.seq,n.token]}i(fn,"keyOf");async function Un(n,e){await n.run(Gu,[e.tenantId,e.runId])}i(Un,"makeGivenBackDue");var Bu=g("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${we} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`),Ju=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),Vu=g("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function sr(n,e,t,r){return n.transaction("items.acknowledge",async o=>{await O(o,[e]);let{kind:s,key:a,by:d,words:u,token:l,under:c}=t;if(c!==void 0&&(await o.run(Ju,[c.tenantId,c.runId,c.seq,c.token])).length===0)return null;let[m]=await o.run(Bu,[e.tenantId,e.runId,s,a,d,u,l??null]);if(m===void 0)return null;if(s==="worker"&&await Un(o,e),r!==void 0){let y=`${s} ${a}`;await Ue(o,e,{...r,act:"resolve",subject:y})}return{openItems:f(m).number("open_items"),ended:await W(o,e)}})}i(sr,"acknowledgeItem");async function ri(n,e){let t=await sr(n,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return t!==null?t:(await n.run(Vu,[e.tenantId,e.runId,e.seq,e.token]),null)}i(ri,"acknowledgeWorker");var Qu=g("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq`),Xu=g("deliveries.beat-of-worker",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $2::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id`);async function oi(n,e,t){return(await n.run(Xu,[e,t])).length}i(oi,"beatOfWorker");async function ii(n,e,t){let r=await n.run(Qu,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),t]);return new Set(r.map(o=>`${f(o).text("run_id")}:${f(o).number("seq")}`))}i(ii,"beatIfClaimed");function Wn(n){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${n}::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${we}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}i(Wn,"takenAway");var el=g("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${v(ye("run","CANCELLING"))})
  for update
), ${Wn("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function si(n,e,t,r){return n.transaction("runs.cancel",async o=>{let s=(await O(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(el,[e.tenantId,e.runId,t.actor,t.reason,r]);return a===void 0?{cancelled:!1,status:s}:{cancelled:!0,status:await W(o,e)??f(a).text("status")}})}i(si,"cancelRun");var tl=g("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function ai(n,e,t){let{call:r,outcome:o,bodyText:s,bodyDigest:a}=t;await n.run(tl,[e.tenantId,e.runId,e.seq,e.token,r,o,s,a])}i(ai,"recordRejectedResult");var ol=_("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.seq, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, c.request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),il=_("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function pn(n,e){return(await n.run(ol,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{armId:o.text("arm_id"),call:ui(r),owner:o.text("owner"),generation:o.number("generation"),seq:o.number("seq"),dueAt:o.dateOrNull("due_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),requestDigest:o.textOrNull("request_digest")}})}i(pn,"readOpenArms");async function di(n,e,t){return(await n.run(il,[e.tenantId,e.runId,t])).map(o=>{let s=f(o);return{call:ui(o),tries:s.number("tries"),dueAt:s.dateOrNull("due_at")}})}i(di,"readRetries");function ui(n){let e=f(n);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}i(ui,"callOf");var al={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},K=i(n=>`(extract(epoch from ${n}) * 1000000)::bigint as micros`,"microsOf"),H=i((n,e,t)=>`(${n}, ${e}) > (timestamptz 'epoch' + $${t}::bigint * interval '1 microsecond', $${t+1}::uuid)`,"behind");function ne(n){let{micros:e,runId:t}=n??al;return[e,t]}i(ne,"positionOf");function te(n,e,t){let r=n.length<e?void 0:n.at(-1);return{found:n.map(t),next:r&&{micros:f(r).text("micros"),runId:f(r).text("run_id")}}}i(te,"pageOf");var Kn=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],dl=_e.map(n=>`when '${n}' then '${Qt(n)}'`).join(" "),ul=g("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${dl} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),ll=_("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),cl=g("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id, run.journal_bytes
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed,
  coalesce((select counted.journal_bytes from counted), 0) as journal_bytes
from closed`),ml=g("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${v(Kn)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),fl=_("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),pl=_("arms.due",`
select a.tenant_id, a.run_id, a.arm_id, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${K("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at <= ghouls.clock() and run.status in (${v(Kn)})
  and run.quarantined_at is null and ${H("a.due_at","a.run_id",2)}
order by a.due_at, a.run_id
limit $1`);async function ar(n,e){await n.run(ul,[e.tenantId,e.runId]);let t=await n.run(ll,[e.tenantId,e.runId]);return Xt(t.map(gl))}i(ar,"readClosings");async function dr(n,e,t,r){for(let{armId:o,resultText:s,signalId:a}of r){let[d]=await n.run(cl,[e.tenantId,e.runId,t,o,a??null,s,s===null?null:C(s),s===null?0:Buffer.byteLength(s)]);if(d!==void 0&&f(d).number("journal_bytes")>ue)return}}i(dr,"closeArms");async function Ae(n,e,t){let r=await ar(n,e),[o]=r;if(o===void 0)return null;let[s]=await n.run(ml,[e.tenantId,e.runId,o.armId,t]);if(s===void 0)return null;let a=f(s);await dr(n,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}i(Ae,"resumeIfClosed");async function ur(n,e,t){return n.transaction("runs.resume",async r=>(await O(r,[e])).size===0?null:Ae(r,e,t))}i(ur,"resumeRun");async function ci(n,e){let[t]=await n.run(fl,[e]);if(t===void 0)return null;let r=f(t);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}i(ci,"readRunOfArm");async function mi(n,e,t){let r=await n.run(pl,[e,...ne(t)]);return te(r,e,o=>{let s=f(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),armId:s.text("arm_id"),lateSeconds:s.number("late")}})}i(mi,"readDueArms");function li(n){return JSON.parse(n).map(t=>({...t,at:new Date(t.at).toISOString()}))}i(li,"dated");function gl(n){let e=f(n),t=e.textOrNull("consent_id"),r=e.textOrNull("signals");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...t===null?{}:{consent:{consentId:t,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:li(e.textOrNull("decisions")??"[]")}},...r===null?{}:{signals:li(r)}}}i(gl,"factOf");var fi=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,lr=`${fi}, c.request_text, c.stored_digest`,Bn=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,_l=_("consents.read",`
select ${lr}
${Bn}
where c.tenant_id = $1 and c.consent_id = $2`),hl=_("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),wl=_("consents.page",`
select ${fi}, ${K("c.created_at")},
  encode(sha256(convert_to(c.request_text, 'UTF8')), 'hex') = c.stored_digest as intact
${Bn}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ($5::bigint is null
    or (c.created_at, c.consent_id) < (timestamptz 'epoch' + $5 * interval '1 microsecond', $6::uuid))
order by c.created_at desc, c.consent_id desc
limit $2`),kl=_("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),xl=g("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function pi(n,e,t,r){let o=await Hn(n,e);return o===null?null:n.transaction("consents.decide",async s=>{await O(s,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await s.run(kl,a);if(d===void 0)return null;let u=f(d),l=Yt({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await cr(s,o)},t,r.asSource===!0),c=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:w,verdict:b,commentText:I,commentDigest:S}=t;await s.run(xl,[...a,w,b,I,S,l.becomes])}let m=c?await Ae(s,o,r.publisherGraceSeconds):null,y=c?await Hn(s,e)??o:o;return{judgement:l,consent:{...y,status:c?y.status:u.text("status")},resumption:m}})}i(pi,"decideConsent");async function Hn(n,e){let[t]=await n.run(_l,[e.tenantId,e.consentId]);return t===void 0?null:mr(t)}i(Hn,"readConsent");async function cr(n,e){return(await n.run(hl,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=f(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}i(cr,"readDecisions");async function gi(n,e,t,r){let o=await n.run(wl,[e,r.limit+1,t.runId??null,t.status??null,r.after?.micros??null,r.after?.consentId??null]),s=o.slice(0,r.limit),a=o.length>r.limit?s.at(-1):void 0;return{consents:s.map(d=>({...yi(d),intact:f(d).boolean("intact")})),next:a&&{micros:f(a).text("micros"),consentId:f(a).text("consent_id")}}}i(gi,"readConsentPage");function mr(n){let e=f(n);return{...yi(n),requestText:e.text("request_text"),storedDigest:e.text("stored_digest")}}i(mr,"consentOf");function yi(n){let e=f(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}i(yi,"listedOf");var Jn=ye("run","FAILING"),fr=`(
      select held.status from ghouls.deliveries held
      where held.tenant_id = run.tenant_id and held.run_id = run.run_id and held.seq = run.enqueue_seq
    ) is distinct from 'HELD'`,El=_("runs.overdue",`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${K("run.deadline_at")}
from ghouls.runs run
where run.deadline_at <= ghouls.clock() and run.status in (${v(Jn)}) and run.quarantined_at is null
  and ${fr} and ${H("run.deadline_at","run.run_id",2)}
order by run.deadline_at, run.run_id
limit $1`),Il=g("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${v(Jn)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${Wn("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function _i(n,e,t){let r=await n.run(El,[e,...ne(t)]);return te(r,e,o=>{let s=f(o);return{tenantId:s.text("tenant_id"),runId:s.text("run_id"),status:s.text("status"),deadlineAt:s.date("deadline_at")}})}i(_i,"readOverdueRuns");async function hi(n,e,t){return n.transaction("runs.fail-overdue",async r=>{await O(r,[e]);let{tenantId:o,runId:s,errorText:a,errorDigest:d}=e,[u]=await r.run(Il,[o,s,a,d,t]);return u===void 0?null:await W(r,e)??f(u).text("status")})}i(hi,"failOverdueRun");var vl=_("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${K("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${H("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),Cl=g("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${mn("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${zn("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function wi(n,e,t){let r=await n.run(vl,[e,...ne(t)]);return te(r,e,o=>({...xi(o),expiredAt:f(o).date("hold_expires_at")}))}i(wi,"readExpiredHolds");async function ki(n,e){return e.length===0?[]:n.transaction("deliveries.expire-holds",async t=>{await O(t,e);let r=await t.run(Cl,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.errorText),e.map(s=>s.errorDigest)]),o=[];for(let s of r){let a=xi(s),d=f(s).text("status");o.push({...a,status:await W(t,a)??d})}return o})}i(ki,"expireHolds");function xi(n){return{tenantId:f(n).text("tenant_id"),runId:f(n).text("run_id")}}i(xi,"keyOf");var Al=g("intents.open",`
with ${T(M)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Rl=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Dl=g("intents.close",`
with ${T(M)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Ol=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),$l=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function pr(n){return[n.epoch,n.scope,n.kind,n.name,n.nth]}i(pr,"callOf");async function bi(n,e,t,r){return(await n.run(Al,[e.tenantId,e.runId,e.seq,e.token,...pr(t),r])).length===1?!0:(await n.run(Rl,[e.tenantId,e.runId,...pr(t),r,e.token])).length===1}i(bi,"openIntentIfClaimed");async function Ei(n,e,t,r,o){let s=[e.tenantId,e.runId,e.seq,e.token];return(await n.run(Dl,[...s,...pr(t),r,o])).length===1}i(Ei,"closeIntentIfClaimed");async function Ii(n,e){return(await n.run(Ol,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}i(Ii,"readOpenIntents");async function Si(n,e){return(await n.run($l,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}i(Si,"readLastIntents");var Nl=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),Ll=_("items.due",`
select i.tenant_id, i.run_id, ${K("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${H("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${v(L)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${H("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),Tl=g("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'worker' and i.acknowledged_at is null and i.over_at <= ghouls.clock()
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = 'time',
    acknowledgement = 'nothing of its claim can act any more'
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Ml=g("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word`),jl=g("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${v(L)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`);async function vi(n,e){return(await n.run(Nl,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}i(vi,"readItems");async function Ci(n,e,t){let r=await n.run(Ll,[e,...ne(t)]),{found:o,next:s}=te(r,e,a=>({tenantId:f(a).text("tenant_id"),runId:f(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:s}}i(Ci,"readDueItems");async function gr(n,e,t){let r=[e.tenantId,e.runId];return n.transaction("items.contain",async o=>{await O(o,[e]),(await o.run(Tl,r)).length>0&&await Un(o,e);let s=await W(o,e);if(s!==null)return{ended:s,contain:!1,needsWord:!1};let a=await o.run(jl,[...r,t]),d=await o.run(Ml,[...r,t]);return{ended:s,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0)}})}i(gr,"containRun");var yr=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,Gl=_("keys.by-id",`
select ${yr}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),Fl=g("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),Ul=g("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),Wl=_("keys.page",`
select ${yr}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),Kl=_("keys.page-of-tenant",`
select ${yr}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),Hl=g("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`);async function Vn(n,e){let[t]=await n.run(Gl,[e]);if(t===void 0)return null;let r=f(t);return{...Pi(t),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}i(Vn,"readKey");async function qi(n,e){await n.run(Fl,[e.tenantId,e.keyId])}i(qi,"markKeyUsed");async function Ai(n,e){let t=i(r=>e.map(r),"column");return await $i(n,Ul,[t(r=>r.tenantId),t(r=>r.keyId),t(r=>r.digest),t(r=>r.subject),t(r=>JSON.stringify(r.roles)),t(r=>JSON.stringify(r.permissions)),t(r=>r.createdBy),t(r=>r.expiresInMs)]),Promise.all(e.map(r=>Bl(n,r)))}i(Ai,"createKeys");async function Bl(n,{tenantId:e,keyId:t,digest:r}){let o=await Vn(n,t);if(o!==null&&o.tenantId===e&&Qe(o.digest,r))return Oi(o);throw new h("idempotency_conflict",`the id ${t} is another key's`,{fix:"Make a key anew: its id is random."})}i(Bl,"readMade");async function Ri(n,e,t){return(e.tenantId===void 0?await n.run(Wl,[t]):await n.run(Kl,[e.tenantId,t])).map(Pi)}i(Ri,"readKeyPage");async function Di(n,e,t){let r=await $i(n,Hl,[e,t.actor,t.reason]),o=await Vn(n,e);return o===null?null:{revoked:r.length>0,key:Oi(o)}}i(Di,"revokeKey");function Oi({digest:n,useIsDue:e,...t}){return t}i(Oi,"shown");async function $i(n,e,t){try{return await n.run(e,t)}catch(r){throw!(r instanceof $)||r.sqlState!=="42501"?r:new h("configuration_invalid","this role may not manage keys",{fix:"Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads keys.",cause:r})}}i($i,"asManager");function Pi(n){let e=f(n);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}i(Pi,"keyOf");var Vl=_("consents.to-look-up",`
select ${lr}, c.looks, ${K("c.next_look_at")}
${Bn}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${H("c.next_look_at","c.run_id",2)}
order by c.next_look_at, c.run_id
limit $1`),Yl=g("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`);async function Ni(n,e,t){let r=await n.run(Vl,[e,...ne(t)]);return te(r,e,o=>({...mr(o),looks:f(o).number("looks")}))}i(Ni,"readConsentsToLookUp");async function Li(n,e,t){await n.run(Yl,[e.tenantId,e.runId,e.consentId,t])}i(Li,"postponeLookUp");var Xl=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${K("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${H("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),Zl=g("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${v(L)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${v(L)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${we} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function Ti(n,e,{after:t,runIds:r=null}={}){let o=await n.run(Xl,[e,r,...ne(t)]);return te(o,e,s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}i(Ti,"readLapsedClaims");async function Mi(n,e,t){return e.length===0?[]:n.transaction("deliveries.settle-lost",async r=>(await O(r,e),(await r.run(Zl,[e.map(s=>s.tenantId),e.map(s=>s.runId),e.map(s=>s.seq),e.map(s=>s.token),e.map(s=>s.errorText),e.map(s=>s.errorDigest),t.maxLosses,t.actsMarginSeconds,t.publisherGraceSeconds])).map(s=>{let a=f(s);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}i(Mi,"settleLostClaims");var zi="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",_r=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at, run.starts_at,
  run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items`,nc=g("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.paused_at is null and r.quarantined_at is null)
      or (d.cause = 'contain' and r.status in (${v(L)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${zn("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${_r}
)
select ${zi}, ${_r}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),tc=_("deliveries.claimed-by-token",`
select ${zi}, ${_r}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),rc=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function Gi(n,e,t){let r=Ui(e),o=e.map(d=>d.token),s=await n.run(nc,[...r,o,t.worker,t.leaseSeconds,t.actsForSeconds]);return s.length===e.length?s.map(ji):(await n.run(tc,[...r,o])).map(ji)}i(Gi,"claimDeliveriesIfDue");async function Fi(n,e){let t=await n.run(rc,Ui(e));return new Map(t.map(r=>{let o=f(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}i(Fi,"readUnclaimed");function Ui(n){return[n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(Ui,"arrays");function ji(n){let e=f(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),startsAt:e.dateOrNull("starts_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until")}}i(ji,"claimedRun");var oc=g("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),ic=g("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function Wi(n,e){let t=await n.run(oc,[e.worker,e.how]);return await n.run(ic,[e.worker,e.actsMarginSeconds??sc]),t.length}i(Wi,"recordWorkerEnd");var sc=60;var dc=g("journal.append",`
with ${T(M)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),uc=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),lc=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function Hi(n,e,t){let r=[t.epoch,t.scope,t.kind,t.name,t.nth],[o]=await n.run(dc,[e.tenantId,e.runId,e.seq,e.token,...r,t.outcome,t.resultText,t.resultDigest,t.tries,t.tookMs,t.resultBytes,t.closesIntent??!1]);if(o!==void 0)return Ki(o);let[s]=await n.run(uc,[e.tenantId,e.runId,...r]);return s!==void 0&&s.token===e.token&&s.outcome===t.outcome&&s.result_digest===t.resultDigest?Ki(s):null}i(Hi,"appendEntryIfClaimed");function Ki(n){let e=f(n);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}i(Ki,"appended");async function Bi(n,e,t=0){return(await n.run(lc,[e.tenantId,e.runId,t])).map(o=>{let s=f(o);return{ordinal:s.number("ordinal"),epoch:s.number("epoch"),scope:s.text("scope"),kind:s.text("kind"),name:s.text("name"),nth:s.number("nth"),outcome:s.text("outcome"),resultText:s.textOrNull("result_text"),resultDigest:s.textOrNull("result_digest"),tries:s.number("tries"),seq:s.number("seq"),token:s.text("token"),startedAt:s.date("started_at"),completedAt:s.date("completed_at")}})}i(Bi,"readJournal");var mc=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
        or (d.cause = 'contain' and run.status in (${v(L)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${v(Kn)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${v(Jn)}) and run.quarantined_at is null
    and ${fr}
  order by run.deadline_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${v(L)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function Ji(n){let[e]=await n.run(mc,[]);return e===void 0?null:f(e).numberOrNull("due_in")}i(Ji,"readNextLook");var Vi=g("arms.open",`
with ${T(M)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),fc=g("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),pc=g("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),gc=g("deliveries.park",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),yc=g("deliveries.continue",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),_c=_("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function Yi(n,e,t,r,o){return n.transaction("deliveries.park",async s=>{await O(s,[e]);let a=await s.run(Vi,[...gn(e),t.journalLength,...Xi(r)]);if(a.length!==r.length)return kc(s,e);let d=new Set(a.map(I=>f(I).text("arm_id")));for(let{armId:I,consent:S}of r)S!==void 0&&d.has(I)&&await xc(s,e,I,S);let u=await pn(s,e),l=Math.max(...u.map(I=>I.generation));await s.run(pc,[e.tenantId,e.runId,l]);let c=u.filter(I=>I.generation===l||I.call.kind!=="step"),m=hc(c,l,r);if(m!==void 0)throw new Yn(m.what,m);let y=[t.workflowDigest,t.journalLength,t.journalDigest],w=await ar(s,e);if(w.length===0){let I=Vt(c.map(({owner:J})=>J)),[S]=await s.run(gc,[...gn(e),...y,I]);if(S===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:I,arms:c}}await dr(s,e,e.seq,w);let[b]=await s.run(yc,[...gn(e),...y,o.publisherGraceSeconds]);if(b===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:ke(b)}}).catch(s=>{if(s instanceof Yn)return{kind:"mismatch",...s.problem};throw s})}i(Yi,"parkIfClaimed");async function Qi(n,e,t,r,o){return n.transaction("deliveries.yield-standing",async s=>{await O(s,[e]);let a=await s.run(Vi,[...gn(e),t.journalLength,...Xi(r)]),d=await Gn(s,e,t,o);if(d===null&&a.length>0)throw new TypeError("a run that is locked and held was not handed over");return d})}i(Qi,"yieldStandingIfClaimed");var Yn=class extends Error{static{i(this,"Mismatch")}problem;constructor(e,t){super(e),this.problem=t}};function hc(n,e,t){let r=n.find(o=>o.generation<e);if(r!==void 0)return{what:`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`};for(let{call:o,consent:s}of t){if(s===void 0)continue;let a=n.find(d=>wc(d.call,o));if(a!==void 0&&a.consentId!==null&&a.requestDigest!==s.requestDigest)return{what:`the consent "${o.name}" was frozen with another request than the code asks for now`,consentId:a.consentId,key:A(o)}}}i(hc,"mismatchOf");function wc(n,e){return n.epoch===e.epoch&&n.scope===e.scope&&n.kind===e.kind&&n.name===e.name&&n.nth===e.nth}i(wc,"sameCall");async function kc(n,e){let[t]=await n.run(_c,gn(e));if(t===void 0)return null;let r=f(t);return r.text("outcome")==="continued"?{kind:"continued",next:ke(t)}:{kind:"parked",status:r.text("status"),arms:await pn(n,e)}}i(kc,"answerOfEarlierTry");async function xc(n,e,t,r){await n.run(fc,[e.tenantId,e.runId,t,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}i(xc,"openConsent");function Xi(n){return[n.map(({armId:e})=>e),n.map(({call:e})=>e.epoch),n.map(({call:e})=>e.scope),n.map(({call:e})=>e.kind),n.map(({call:e})=>e.name),n.map(({call:e})=>e.nth),n.map(({owner:e})=>e),n.map(({dueAt:e})=>e),n.map(({tries:e})=>e),n.map(({consent:e})=>e?.expiresInSeconds??null)]}i(Xi,"columnsOf");function gn(n){return[n.tenantId,n.runId,n.seq,n.token]}i(gn,"keyOf");var Zi=P("run").filter(n=>!Ce(n)),Ec=_("runs.open-of-pins",`
select run.workflow_name, run.workflow_version, run.workflow_digest, count(*)::integer as runs
from ghouls.runs run
where run.tenant_id = $1 and run.status in (${v(Zi)})
  and (run.workflow_name, run.workflow_version, run.workflow_digest) in (
    select q.name, q.version, q.digest
    from unnest($2::text[], $3::integer[], $4::text[]) as q(name, version, digest))
group by run.workflow_name, run.workflow_version, run.workflow_digest`);async function es(n,e,t){return t.length===0?[]:(await n.run(Ec,[e,...Sc(t)])).map(o=>({...ts(o),runs:f(o).number("runs")}))}i(es,"countOpenRunsOfPins");var Ic=_("runs.stranded",`
with stranded as materialized (
  select run.run_id, run.status, run.workflow_name, run.workflow_version, run.workflow_digest, run.created_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.status in (${v(Zi.filter(n=>!L.includes(n)))})
    and (run.workflow_name, run.workflow_digest) not in (
      select q.name, q.digest
      from unnest($2::text[], $3::text[]) as q(name, digest))
)
select s.run_id, s.status, s.workflow_name, s.workflow_version, s.workflow_digest, count(*) over ()::integer as runs
from stranded s
order by s.created_at desc, s.run_id desc
limit $4`);async function ns(n,e,t,r){let o=await n.run(Ic,[e,t.map(({name:a})=>a),t.map(({digest:a})=>a),r]),[s]=o;return{runs:o.map(a=>({runId:f(a).text("run_id"),status:f(a).text("status"),workflow:ts(a)})),count:s===void 0?0:f(s).number("runs")}}i(ns,"readStrandedRuns");function Sc(n){return[n.map(e=>e.name),n.map(e=>e.version),n.map(e=>e.digest)]}i(Sc,"columnsOf");function ts(n){let e=f(n);return{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")}}i(ts,"pinOf");var Cc=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${v(L)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),qc=g("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = greatest(ghouls.clock(), d.due_at)
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),Ac=g("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`);async function rs(n,e){return(await n.run(Cc,[e])).map(r=>{let o=f(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}i(rs,"readDuePublications");async function os(n,e,t=Cn.afterSuccess){return e.length===0?0:(await n.run(qc,[...ss(e),t])).length}i(os,"markPublished");async function is(n,e,t=Cn.afterFailure){if(e.length===0)return 0;let r=e.map(s=>s.publication),o=e.map(s=>s.reason.slice(0,500).replaceAll("\0",""));return(await n.run(Ac,[...ss(r),t,o])).length}i(is,"markPublicationFailed");function ss(n){return[n.map(e=>e.tenantId),n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}i(ss,"arrays");var Dc=g("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`);async function as(n,e,t,r){return n.transaction("runs.clear-quarantine",async o=>{let s=(await O(o,[e])).get(e.runId);if(s===void 0)return null;let[a]=await o.run(Dc,[e.tenantId,e.runId]);if(a===void 0)return{cleared:!1,status:s,resumption:null};await Ue(o,e,{...t,act:"clear",subject:"quarantine"});let d=await W(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await Ae(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=f(a),[c,m]=[l.numberOrNull("seq"),l.textOrNull("queue")],y=c===null||m===null?null:{...e,enqueueSeq:c,queue:m};return{cleared:!0,status:l.text("status"),resumption:y}})}i(as,"clearQuarantine");var ls=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at, run.starts_at,
  run.created_at, run.started_at, run.finished_at`,$c=_("runs.get",`
select ${ls}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),cs=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,wr=`
order by run.created_at desc, run.run_id desc
limit $4`,ms=`${ls}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,hr=i((n,e)=>_(`runs.page-${n}`,`
select ${ms}
from ghouls.runs run${cs}
  ${e}${wr}`),"page"),ds=i((n,e)=>_(`runs.page-${n}`,`
select ${ms}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${cs}
  and run.status = wanted.status ${e}${wr}
) as run${wr}`),"pageOfStatuses"),yn={all:hr("all",""),status:ds("status",""),workflow:hr("workflow","and run.workflow_name = $5"),both:ds("status-workflow","and run.workflow_name = $6"),attention:hr("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Pc=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function fs(n,e){let[t]=await n.run($c,[e.tenantId,e.runId]);if(t===void 0)return null;let r=f(t);return{...ys(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}i(fs,"readRun");async function ps(n,e,t,r){let[o,s]=r.cursor===void 0?Lc:Mc(r.cursor),[a,d]=Nc(t),u=await n.run(a,[e,o,s,r.limit+1,...d]),l=u.slice(0,r.limit),c=l.at(-1);return{runs:l.map(m=>ys(f(m))),nextCursor:u.length>r.limit&&c!==void 0?Tc(c):null}}i(ps,"readRunPage");function Nc(n){let{status:e,workflow:t,attention:r}=n;if(r===!0){if(e!==void 0||t!==void 0)throw new h("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[yn.attention,[]]}return e!==void 0&&t!==void 0?[yn.both,[e,t]]:e!==void 0?[yn.status,[e]]:t!==void 0?[yn.workflow,[t]]:[yn.all,[]]}i(Nc,"choose");var Lc=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Tc(n){return`${f(n).text("created_micros")}.${f(n).text("run_id")}`}i(Tc,"cursorOf");function Mc(n){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(n);if(e===null)throw new h("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}i(Mc,"parseCursor");async function gs(n,e){return(await n.run(Pc,[e.tenantId,e.runId])).map(r=>{let o=f(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}i(gs,"readDeliveries");function ys(n){return{tenantId:n.text("tenant_id"),runId:n.text("run_id"),idempotencyKey:n.textOrNull("idempotency_key"),workflow:{name:n.text("workflow_name"),version:n.number("workflow_version"),digest:n.text("workflow_digest")},queue:n.text("queue"),priority:n.number("priority"),agent:n.textOrNull("agent"),requestedBy:n.text("requested_by"),status:n.text("status"),enqueueSeq:n.number("enqueue_seq"),journalLength:n.number("journal_length"),errorCode:n.textOrNull("error_code"),attention:us(n,"attention_reason","attention_at"),quarantine:us(n,"quarantine_reason","quarantined_at"),pausedAt:n.dateOrNull("paused_at"),deadlineAt:n.dateOrNull("deadline_at"),createdAt:n.date("created_at"),startsAt:n.dateOrNull("starts_at"),startedAt:n.dateOrNull("started_at"),finishedAt:n.dateOrNull("finished_at")}}i(ys,"runOf");function us(n,e,t){let r=n.textOrNull(e),o=n.dateOrNull(t);return r===null||o===null?null:{reason:r,at:o}}i(us,"flag");var zc=P("run").filter(n=>n==="QUEUED"||n.startsWith("AWAITING_")&&n!=="AWAITING_HARDWARE"),Gc=g("runs.repin",`
with r as materialized (
  select run.tenant_id, run.run_id, run.generation, run.enqueue_seq, run.workflow_absent_since
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${v(zc)})
    and run.quarantined_at is null and run.workflow_digest = $3 and run.workflow_digest <> $4
  for update
), checkpoint as (
  update ghouls.checkpoints c
  set workflow_digest = $4
  from r
  where c.tenant_id = r.tenant_id and c.run_id = r.run_id and c.generation = r.generation
  returning c.run_id
), due as (
  update ghouls.deliveries d
  set due_at = least(d.due_at, ghouls.clock()), next_publication_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq and d.status = 'PENDING'
    and r.workflow_absent_since is not null
  returning d.run_id
)
update ghouls.runs run
set workflow_digest = $4, workflow_absent_since = null
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from checkpoint) >= 0
  and (select count(*) from due) >= 0
returning run.run_id`),Fc=_("runs.pin",`
select run.workflow_digest, run.quarantined_at is not null as quarantined
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function _s(n,e,t,r){return n.transaction("runs.repin",async o=>{let s=(await O(o,[e])).get(e.runId);if(s===void 0)return null;let{from:a,to:d}=t;if((await o.run(Gc,[e.tenantId,e.runId,a,d])).length===0){let[l]=await o.run(Fc,[e.tenantId,e.runId]),c=f(l??{});return{repinned:!1,status:s,digest:c.text("workflow_digest"),quarantined:c.boolean("quarantined")}}return await Ue(o,e,{...r,act:"repin",subject:`workflow ${a} to ${d}`}),{repinned:!0,status:s,digest:d,quarantined:!1}})}i(_s,"repinRunIfUnclaimed");var Wc=g("runs.restart",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8,
    starts_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function hs(n,e,t,r){let[o]=await n.run(Wc,[e.tenantId,e.runId,e.seq,e.token,t.workflowDigest,t.journalDigest,t.inputText,t.inputDigest,t.epoch,r.publisherGraceSeconds]);return o===void 0?Fn(n,e,"continued"):ke(o)}i(hs,"restartIfClaimed");var Hc=g("deliveries.settle",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${mn("r.status","DONE")}) or ($5 = 'FAILED' and ${mn("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${we}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),Bc=g("deliveries.settle-contain",`
with ${T(L)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),Jc=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),Vc=g("runs.quarantine",`
with ${T(M)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),Yc=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${v(dn("run"))})
returning run.run_id`);async function ws(n,e,t){let r=t.status==="DONE"?"done":"failed",o=t.status==="DONE"?[t.outputText,t.outputDigest,null,null,null]:[null,null,t.errorCode,t.errorText,t.errorDigest],s=await n.run(Hc,[...Qn(e),t.status,r,...o]),[a]=s;return a!==void 0?{settled:!0,runStatus:f(a).text("status")}:kr(n,e,r)}i(ws,"settleDeliveryIfClaimed");async function ks(n,e,t){return n.transaction("deliveries.settle-contain",async r=>{await O(r,[e]);let s=(await r.run(Bc,[...Qn(e),t])).length===1||(await kr(r,e,t)).settled;return{settled:s,ended:s?await W(r,e):null}})}i(ks,"settleContainIfClaimed");async function xs(n,e,t){return(await n.run(Vc,[...Qn(e),t])).length===1?!0:(await kr(n,e,"given_back")).settled}i(xs,"quarantineRunIfClaimed");async function bs(n,e,t){return(await n.run(Yc,[e.tenantId,e.runId,t])).length===1}i(bs,"raiseAttention");async function kr(n,e,t){let[r]=await n.run(Jc,Qn(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=f(r),s=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===t?{settled:!0,runStatus:s}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:s}}i(kr,"readClaim");function Qn(n){return[n.tenantId,n.runId,n.seq,n.token]}i(Qn,"keyOf");var _n=1e3,Xc=_("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),Zc=_("signals.buffered",`
select count(*)::integer as buffered, count(*) filter (where s.name = $3)::integer as of_name,
  (select count(*) from ghouls.arms a
    where a.tenant_id = $1 and a.run_id = $2 and a.owner = 'signal' and a.name = $3 and a.closed_at is null)::integer as awaited
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),em=g("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function Es(n,e,t){return n.transaction("signals.keep",async r=>{let{tenantId:o,runId:s,signalId:a,idempotencyKey:d}=e,u=(await O(r,[e])).get(s);if(u===void 0)return null;let[l]=await r.run(Xc,[o,s,d,a]);if(l!==void 0){let m=f(l);return m.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:m.text("signal_id"),repeated:!0,resumption:null}}if(Ce(u)||L.includes(u))return{kind:"ended",status:u};if(await nm(r,e))return{kind:"full"};await r.run(em,[o,s,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let c=await Ae(r,e,t.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:c}})}i(Es,"keepSignal");async function nm(n,{tenantId:e,runId:t,name:r}){let[o]=await n.run(Zc,[e,t,r]);if(o===void 0)return!1;let s=f(o);return s.number("buffered")>=_n&&s.number("of_name")>=s.number("awaited")}i(nm,"isFull");var rm=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),om=_("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function Is(n,e,t){await n.run(rm,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),t])}i(Is,"recordWorkflows");async function Ss(n,e){let[t]=await n.run(om,[e.name,e.digest]);return t===void 0?null:f(t).text("build")}i(Ss,"readBuildOf");function k(n,e){return((...t)=>e(n,...t))}i(k,"bind");function B(n,e,t){return(async(...r)=>(await e(),t(n,...r)))}i(B,"opening");function sm(n,e,t,r){return nr(e,t,r)}i(sm,"admitIn");function vs(n){let e=new jn(n),t=n.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:B(e,t,nr),admitIn:B(e,t,sm),byKey:k(e,ze),byId:k(e,$n),get:k(e,fs),page:k(e,ps),openOfPins:k(e,es),stranded:k(e,ns),repinIfUnclaimed:k(e,_s),raiseAttention:k(e,bs),quarantineIfClaimed:k(e,xs),adoptIfClaimed:k(e,ni),clearAbsenceIfClaimed:k(e,ei),cancel:B(e,t,si),clearQuarantine:B(e,t,as),overdue:k(e,_i),failOverdue:k(e,hi),restartIfClaimed:k(e,hs),resume:B(e,t,ur),resumeDue:k(e,ur)},deliveries:{releaseIfHeld:B(e,t,Ao),claimIfDue:B(e,t,Gi),unclaimed:k(e,Fi),settleIfClaimed:k(e,ws),duePublications:k(e,rs),markPublished:k(e,os),markPublicationFailed:k(e,is),settleContainIfClaimed:k(e,ks),beatIfClaimed:k(e,ii),parkIfClaimed:k(e,Yi),yieldStandingIfClaimed:k(e,Qi),beatOfWorker:k(e,oi),yieldIfClaimed:k(e,Gn),giveBackIfClaimed:k(e,Zo),lapsed:k(e,Ti),settleLost:k(e,Mi),expiredHolds:k(e,wi),expireHolds:k(e,ki),recordWorkerEnd:B(e,t,Wi),ofRun:k(e,gs)},journal:{appendIfClaimed:k(e,Hi),read:k(e,Bi)},checkpoints:{read:k(e,ti)},intents:{openIfClaimed:k(e,bi),closeIfClaimed:k(e,Ei),openOfRun:k(e,Ii),lastOfRun:k(e,Si)},items:{ofRun:k(e,vi),due:k(e,Ci),contain:k(e,gr),containSooner:B(e,t,gr),acknowledge:B(e,t,sr),acknowledgeWorker:B(e,t,ri)},arms:{openOfRun:k(e,pn),retriesOfRun:k(e,di),runOf:k(e,ci),due:k(e,mi)},consents:{get:k(e,Hn),page:k(e,gi),decisions:k(e,cr),decide:B(e,t,pi),toLookUp:k(e,Ni),postponeLookUp:k(e,Li)},signals:{keep:B(e,t,Es)},evidence:{reject:k(e,ai)},workflows:{record:k(e,Is),buildOf:k(e,Ss)},keys:{byId:k(e,Vn),markUsed:k(e,qi),page:k(e,Ri),create:k(e,Ai),revoke:k(e,Di)},nextLook:k(e,Ji),beforeOpening:t,doctor:i(()=>Qo(e),"doctor"),schemaVersion:i(()=>ir(e),"schemaVersion"),transaction:e.transaction.bind(e),close:i(()=>e.close(),"close")}}i(vs,"openLedger");var xr="ghouls_app";function Cs(n,e){return`
grant usage on schema ${n} to ${e};
grant select on ${n}.migrations to ${e};
grant select, insert, update on ${n}.workflows to ${e};
grant select, insert, update on ${n}.runs to ${e};
grant select, insert, update on ${n}.deliveries to ${e};
grant select, insert on ${n}.journal to ${e};
grant select, insert on ${n}.checkpoints to ${e};
grant select, insert, update on ${n}.containment_items to ${e};
grant select, insert, update on ${n}.intents to ${e};
grant select, insert, update on ${n}.waits to ${e};
grant select, insert, update on ${n}.arms to ${e};
grant select, insert, update on ${n}.consents to ${e};
grant select, insert on ${n}.consent_decisions to ${e};
grant select, insert, update on ${n}.signals to ${e};
grant select, insert on ${n}.evidence to ${e};
grant select, insert on ${n}.audit to ${e};
grant select, update (last_used_at) on ${n}.api_keys to ${e};
grant select on ${n}.doctor_open_deliveries to ${e};
grant select on ${n}.doctor_working_runs to ${e};
grant select on ${n}.doctor_terminal_runs to ${e};
grant select on ${n}.doctor_pending_deliveries to ${e};
grant select on ${n}.doctor_journals to ${e};
grant select on ${n}.doctor_open_items to ${e};
grant select on ${n}.doctor_endings to ${e};
grant select on ${n}.doctor_waits to ${e};
grant select on ${n}.doctor_ended_waits to ${e};
grant select on ${n}.doctor_lost_claims to ${e};
grant select on ${n}.doctor_quarantined_runs to ${e};
grant select on ${n}.doctor_runs_with_attention to ${e};
`}i(Cs,"grantsSql");function qs(n){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${n}') then create schema ${n}; end if;
end $$;
create table if not exists ${n}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}i(qs,"prologueSql");function As(n,e){return`${qe(n.sql,e)}
insert into ${e}.migrations (number, name) values (${n.number}, '${n.name}');
`}i(As,"stepSql");function Rs(n={}){let{schema:e,role:t}=Os(n);return["begin;",qs(e).trim(),...Fe.map(r=>`-- ${r.number} ${r.name}
${As(r,e).trim()}`),Cs(e,t).trim(),"commit;",""].join(`

`)}i(Rs,"migrationSql");async function Ds(n){let{schema:e,role:t}=Os(n),r=new Ge({...n,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let s=await r.connect("the migration",o);try{return await am(s,e,t)}finally{s.release(!0)}}catch(s){throw dm(s,t)}finally{o.end(),await r.close()}}i(Ds,"migrate");async function am(n,e,t){await n.query("begin"),await n.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await n.query(qs(e));let o=await n.query(`select number from ${e}.migrations order by number`),s=Number(o.rows.at(-1)?.number??0),a=Fe.at(-1)?.number??0;if(s>a)throw new h("configuration_invalid",`the schema is at migration ${s}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=Fe.filter(l=>l.number>s);for(let l of d)await n.query(As(l,e));await n.query(Cs(e,t));let u=await n.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:c})=>({number:l,name:c})),version:a}}i(am,"applyMissing");function Os(n){let e=n.schema??Me,t=n.applicationRole??xr;return je(e,"the schema name"),je(t,"the application's role"),{schema:e,role:t}}i(Os,"named");function dm(n,e){let t=typeof n=="object"&&n!==null&&"code"in n?n.code:void 0;return t==="42501"?new h("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:n}):t==="42704"?new h("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:n}):n}i(dm,"readable");import br from"pg";var um={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Er(n,e){let{schema:t,migrator:r,application:o}=n;for(let[a,d]of[["the schema name",t],["the migrator's role",r.name],["the application's role",o.name]])je(d,a);let s=i(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${br.escapeLiteral(d)}`],"role");return[...s(r),...s(o),...Object.entries(um).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${t} authorization ${r.name}`,`grant connect on database ${br.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}i(Er,"rolesSql");async function $s(n,e){let t=new br.Client({connectionString:n});t.on("error",()=>{}),await t.connect();try{let r=(await t.query("select current_database() as name")).rows[0]?.name??"";for(let o of Er(e,r))await t.query(o)}finally{await t.end()}}i($s,"createRoles");var rd={};bn(rd,{DEFAULT_EXECUTION_SETTINGS:()=>zs,Publisher:()=>We,Registry:()=>mt,blameHop:()=>Gs,createAdmission:()=>js,createAnnouncement:()=>Ls,createConsents:()=>La,createControl:()=>za,createKeyAuthenticator:()=>Ga,createLowering:()=>Ya,createReads:()=>Fa,createSignals:()=>td,endsWithin:()=>oe,isConsentStatus:()=>Ma,reconcile:()=>bt,reconcileWhenDue:()=>ed,work:()=>Pa});function Ns(n,e){let t=[],r=!1,o=i(async()=>{for(r=!0;t.length>0;){let s=t.slice(0,n);t=t.slice(n);try{let a=await e(s.map(d=>d.item));s.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of s)d.reject(a)}}r=!1},"drain");return s=>new Promise((a,d)=>{t.push({item:s,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}i(Ns,"grouped");var lm=100,We=class{static{i(this,"Publisher")}#e;#t;constructor(e){this.#e=e,this.#t=Ns(lm,t=>this.#n(t))}publish(e){return this.#t(e)}async#n(e){let{queue:t,log:r,faults:o}=this.#e;try{let{confirmed:s,failed:a}=await t.publish(e);for(let{publication:u,reason:l}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:l});await o("admission.after-publish",`${s.length} confirmed`),await this.#r(s,a);let d=new Set(s.map(({runId:u,enqueueSeq:l})=>`${u}:${l}`));return e.map(({runId:u,enqueueSeq:l})=>d.has(`${u}:${l}`)?"published":"failed")}catch(s){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(s).slice(0,200)}),e.map(()=>"failed")}}async#r(e,t){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(t)}catch(s){o.warn("publications could not be marked",{count:e.length,error:s.name})}}};function Ls({ledger:n,registry:e,build:t}){let r;return()=>(r??=n.workflows.record(e.carried(),t).catch(o=>{throw r=void 0,o}),r)}i(Ls,"createAnnouncement");async function Ir(n){try{await n()}catch(e){throw!(e instanceof $)||e.kind!=="unknown"&&e.kind!=="busy"?e:new h("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}i(Ir,"announceOrRefuse");async function oe(n,e){let t=Promise.withResolvers(),r=setTimeout(()=>t.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([n.then(()=>!0),t.promise])}finally{clearTimeout(r)}}i(oe,"endsWithin");async function Re(n,e){if(await oe(n,e))return n;throw new Error(`no answer within ${e} ms`)}i(Re,"answerWithin");async function Sr(n,e,t){let r=n.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),s=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await t.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((s.length>0?await t.byId(s):[]).map(u=>[u.runId,u]));return n.map(u=>{let l=e.get(u.runId);if(l!==void 0)return{run:cm(u,l),created:!0};let c=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(c===void 0)throw new h("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return c.requestDigest!==u.requestDigest?{conflict:!0}:{run:c,created:c.runId===u.runId}})}i(Sr,"settleKeys");function cm(n,{startsAt:e,startsInSeconds:t}){let{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c}=n;return{tenantId:r,runId:o,idempotencyKey:s,requestDigest:a,workflow:d,queue:u,priority:l,held:c,status:"QUEUED",enqueueSeq:1,unpublished:!c,startsAt:e,dueInSeconds:t}}i(cm,"freshRun");function hn({run:n,created:e}){let{runId:t,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l}=n;return{runId:t,created:e,status:r,enqueueSeq:o,workflow:s,queue:a,priority:d,held:u,startsAt:l?.toISOString()??null}}i(hn,"admittedView");function Xn(n){return new h("idempotency_conflict",`the idempotency key "${n}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}i(Xn,"conflict");async function Ts(n,e){let t=[],r=[],o;for(let[s,a]of n.entries())try{t.push(await e(a))}catch(d){if(!(d instanceof h))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${s}${l.path}`,message:l.message})))}if(o===void 0)return t;throw new h(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}i(Ts,"prepareAll");var mm=5,fm="1h";async function Zn(n,e,t){let{request:r}=t,o=Buffer.byteLength(t.inputText);if(o>ve)throw new h("too_large",`the input is ${o} bytes of JSON, the limit is ${ve}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new h("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let s=JSON.parse(t.inputText),a=r.workflow===void 0?gm(n.route,{input:s,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=n.registry.choose(r.workflow??a.workflow,r.version);await hm(d,s);let u=n.ids.next(),l=await n.codec.encode(t.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:t.idempotencyKey??null,requestDigest:await wn(n.codec,t.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:ym(n.queues,r.queue??a?.queue??d.definition.queue??Ut),priority:_m(r.priority??a?.priority??mm),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:C(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:z(r.holdFor??fm),startAfter:pm(r.startAfter)}}i(Zn,"prepare");function pm(n){return n===void 0?null:ie(n)?{ms:z(n)}:{at:new Date(n)}}i(pm,"startAfterOf");async function wn(n,e){return n.digest?.(e)??C(e)}i(wn,"requestDigest");function gm(n,e){let t;try{t=n?.(e)}catch{throw new h("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(t===void 0)throw new h("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return t}i(gm,"routeOf");function ym(n,e){if(!n.includes(e))throw new h("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${n.join(", ")}.`});return e}i(ym,"queueOf");function _m(n){if(!Number.isInteger(n)||n<0||n>9)throw new h("invalid_request",`a priority of ${n} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return n}i(_m,"priorityOf");async function hm(n,e){let t=await wm(n,e);if(t.length!==0)throw new h("input_invalid",`the input does not fit workflow "${n.definition.name}"`,{issues:t,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}i(hm,"checkInput");async function wm(n,e){try{let t=await n.definition.input.safeParseAsync(e);return t.success?[]:t.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}i(wm,"issuesOf");function js(n){let{ledger:e}=n,t=new We(n),r={lockTimeoutMs:n.lockTimeoutMs??2e3,publisherGraceSeconds:n.publisherGraceSeconds??15},o=i(async({tenantId:d,runId:u,enqueueSeq:l,queue:c,unpublished:m,dueInSeconds:y})=>{if(!m||y>X)return;let w={tenantId:d,runId:u,enqueueSeq:l,queue:c,...Ms(y)};await oe(t.publish(w),km)},"publishIfUnpublished"),s=i(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[c]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(c===void 0||c.requestDigest!==await wn(n.codec,l)))return hn({run:c,created:!1})},"admittedBefore"),a=i(async d=>{await Ir(n.announce);let u=await e.runs.admit(d,r);await n.faults("admission.after-commit",`${u.size} created`);let l=await Sr(d,u,e.runs);return await Promise.all(l.flatMap(c=>"run"in c?[o(c.run)]:[])),l},"commit");return{admit:i(async(d,u)=>{let l;try{l=await Zn(n,d,u)}catch(m){let y=await s(d,u);if(y===void 0)throw m;return y}let[c]=await a([l]);if(c===void 0||"conflict"in c)throw Xn(l.idempotencyKey);return hn(c)},"admit"),admitBatch:i(async(d,u)=>{let l=await Ts(u,m=>Zn(n,d,m));return{runs:(await a(l)).map((m,y)=>"run"in m?{outcome:"admitted",run:hn(m)}:{outcome:"conflict",idempotencyKey:l[y]?.idempotencyKey??"",detail:Xn(l[y]?.idempotencyKey??null).message})}},"admitBatch"),release:i(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},c=j(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[m]=j(u)?await e.runs.byId([l]):[];if(m===void 0)throw new h("not_found","there is no such run",{fix:"Check the run id."});await o(m);let y=m.status==="FAILING"||m.status==="FAILED"||m.status.startsWith("CANCEL");if(!c&&(y||m.held)){let w=y?`the run is ${m.status}`:"the hold has expired";throw new h("hold_ended",`${w}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:m.enqueueSeq,released:c}},"release"),admitIn:i(async(d,u,l)=>{let c=await Zn(n,u,l);await Ir(n.announce);let m=Nn(d,e.schema),y=await Ln(m,async()=>{let w=await e.runs.admitIn(m,[c],r),[b]=await Sr([c],w,{byKey:i(I=>ze(m,I),"byKey"),byId:i(()=>Promise.resolve([]),"byId")});return b});if(y===void 0||"conflict"in y)throw Xn(c.idempotencyKey);return{admitted:hn(y),tenantId:u.tenantId}},"admitIn"),publish:i(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:c,queue:m}=d,[y]=d.startsAt===null?[]:await e.runs.byId([{tenantId:u,runId:l}]),w=y?.dueInSeconds??0;w>X||await t.publish({tenantId:u,runId:l,enqueueSeq:c,queue:m,...Ms(w)})},"publish")}}i(js,"createAdmission");function Ms(n){return n>0?{delaySeconds:Math.min(X,Math.ceil(n))}:{}}i(Ms,"delayOf");var km=2e3;var zs={replayPatienceMs:1e3,settleReserveMs:2e3,residentDelayMs:qn,parkRestMs:25,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,publisherGraceSeconds:15,replayCheck:!1,leaseHeld:!1};import{AsyncLocalStorage as xm}from"node:async_hooks";var vr=new xm;function et(n,e){return vr.run(n,e)}i(et,"standIn");function nt(){return vr.getStore()}i(nt,"whereAmI");function Gs(n){let e=vr.getStore();return e===void 0?!1:(e.hop.fail(n),!0)}i(Gs,"blameHop");function D(n,e,t){return{kind:"failed",failure:{code:n,name:"Refused",message:e,...t===void 0?{}:{step:t}}}}i(D,"refusal");function De(n){return n.kind==="yielded"||n.kind==="given_back"}i(De,"handsOver");function Fs(n){return n.kind==="given_back"||n.kind==="failed"&&n.failure.code==="effect_unknown"}i(Fs,"isOfAnEffect");async function Us(n){try{return await n()}catch(e){return{kind:"unknown",error:e}}}i(Us,"whatStops");function Cr(n){let e=bm(n);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...q(n)}};let{name:t,message:r}=q(n);return{kind:"failed",failure:{code:"step_failed",name:t,message:r,...e}}}i(Cr,"failureOf");function bm(n){try{if(!(n instanceof Se))return;let e=n.failure.stack;return{step:String(n.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}i(bm,"stepFailureIn");function Ws(n,e){return Object.defineProperty(n,"constructor",{get:i(()=>{let t=Em();return t!==void 0&&e(t),Promise},"get")})}i(Ws,"guardAgainstRace");function Em(){let{stackTraceLimit:n}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=n,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}i(Em,"racingNow");import{setTimeout as Im}from"node:timers/promises";function Oe(){return new Promise(n=>setImmediate(n))}i(Oe,"comeToRest");function Ks(){return Im(5)}i(Ks,"briefly");function Hs(){return process.getActiveResourcesInfo().some(n=>n.startsWith("FSReq"))}i(Hs,"readsFiles");function ce(){let{promise:n,resolve:e,reject:t}=Promise.withResolvers();return n.catch(()=>{}),{promise:n,resolve:e,reject:t}}i(ce,"deferred");var Sm=6e4,Bs=100,Js=new Set(["tries","backoff","timeout","effect","probe"]),Vs=200;function Ys(n,e,t,r){if(typeof n!="string"||n===""||n.length>Vs||n.includes("\0")||!n.isWellFormed())return`a step's name is a text of 1 to ${Vs} characters`;if(typeof e!="function")return`step "${n}" has no function`;let o=Object.keys(t??{}).find(s=>!Js.has(s));if(o!==void 0)return`step "${n}": option "${o}" is not known in this version (known: ${[...Js].join(", ")})`;try{return vm(n,t??{},r)}catch(s){if(!(s instanceof h))throw s;return`step "${n}": ${s.message}${s.fix===void 0?"":`. ${s.fix}`}`}}i(Ys,"resolveStep");function vm(n,e,t){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Bs)return`step "${n}": tries is a whole number from 1 to ${Bs}`;let o=e.timeout===void 0?Math.min(Sm,t/2):z(e.timeout);return o<=0||o>t?`step "${n}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(t/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${n}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${n}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:zt(e.backoff)}}i(vm,"resolved");var Cm=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),qm=new Set(["schema","timeout"]),Am=/^(?:role|user):[\x21-\x7e]{1,200}$/,Qs=200,tt=100;function Xs(n,e,t,r){return qr("consent",n,e,Cm,o=>{let{deciders:s,quorum:a=1,onExpiry:d="expire",requesterMayDecide:u=!1}=e??{},l=e?.source??null;if(!Array.isArray(s)||s.length===0||s.length>tt)return`name 1 to ${tt} deciders, such as deciders: ["role:legal"]`;let c=s.find(b=>typeof b!="string"||!Am.test(b));if(c!==void 0)return`"${String(c).slice(0,100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;if(!Number.isInteger(a)||a<1||a>tt)return`quorum is a whole number from 1 to ${tt}`;let m=new Set(s);if(a>m.size&&!s.some(un))return`a quorum of ${a} cannot be reached by ${m.size} deciders`;if(!_e.includes(d))return`onExpiry is one of ${_e.join(", ")}`;if(l!==null&&!t.includes(l))return`source "${String(l).slice(0,100)}" is not among the decision sources of the configuration`;if(l===null&&u!==!0&&new Set(s.filter(I=>!Dn(I,r))).size<a&&!s.some(un))return`it cannot be granted: ${r} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;let y=Rm(e?.detail),w={title:o,deciders:[...m].toSorted((b,I)=>b<I?-1:1),quorum:a,expiresMs:e?.expires===void 0?null:z(e.expires),onExpiry:d,requesterMayDecide:u===!0,detail:y,source:l};return{name:o,wait:{owner:"consent",dueAt:null,tries:null,consent:w}}})}i(Xs,"understandConsent");function Rm(n){try{return Q(n)}catch(e){throw e instanceof G?new h("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${ve} bytes.`}):e}}i(Rm,"detailOf");var Dm=new Date("9999-12-31T23:59:59.999Z");function Zs(n,e,t){if(typeof n!="string"&&!(n instanceof Date))return`sleep: ${typeof n} is no time: give a duration such as "3d", or a Date`;let r=n instanceof Date?Om(n):n;return qr("sleep",e?.name??r,e,new Set(["name"]),o=>{let s=n instanceof Date?new Date(n):new Date(t.getTime()+z(String(n)));if(Number.isNaN(s.getTime()))return"it is until no moment: the Date is invalid";if(s>Dm)return"it is until a moment that the ledger cannot keep: give one before the year 10000";let a=s<t?t:s;return{name:o,wait:{owner:"timer",dueAt:a,tries:null,receive:i(()=>{},"receive")}}})}i(Zs,"understandSleep");function Om(n){return Number.isNaN(n.getTime())?"invalid date":n.toISOString()}i(Om,"momentOf");function ea(n,e,t){return qr("signal",n,e,qm,r=>{if(!Te.SIGNAL_NAME.test(r))return`nobody could send it: the name of a signal is ${Te.SIGNAL_NAME_RULE}`;let{schema:o,timeout:s}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=s===void 0?null:new Date(t.getTime()+z(s));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:i(d=>$m(d,o),"receive")}}})}i(ea,"understandSignal");function $m(n,e){let{outcome:t,payload:r}=n;if(t!=="RECEIVED"||e===void 0)return n;try{let o=e.safeParse(r);return o.success?{...n,payload:o.data}:{...n,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let s=`the schema threw: ${String(o).slice(0,500)}`;return{...n,outcome:"INVALID",problem:s}}}i($m,"received");function qr(n,e,t,r,o){if(typeof e!="string"||e===""||e.length>Qs||e.includes("\0")||!e.isWellFormed())return`the name of a ${n} is a text of 1 to ${Qs} characters`;let s=`${n} "${e}"`;if(t!==void 0&&(typeof t!="object"||t===null))return`${s}: its options are an object`;let a=Object.keys(t??{}).find(d=>!r.has(d));if(a!==void 0)return`${s}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${s}: ${d}`:d}catch(d){if(!(d instanceof h))throw d;return`${s}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}i(qr,"understood");var rt=class{static{i(this,"Asking")}#e;constructor(e){this.#e=e}step(e,t,r){return this.#n("step",e,()=>{let o=Ys(e,t,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:t}})}consent(e,t,r){return this.#t("consent",()=>Xs(e,t,this.#e.sources,r))}sleep(e,t){return this.#t("sleep",()=>Zs(e,t,this.#e.now()))}signal(e,t){return this.#t("signal",()=>ea(e,t,this.#e.now()))}refuseAll(e){this.#e.refuse(e)}restart(e){let t=this.#r("restart","");return t!==void 0?t:(this.#e.decide({kind:"restarted",input:e}),ce().promise)}#t(e,t){let r=this.#n(e,e,t);return Ws(r,o=>{let s=`${o} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#o(D("invalid_call",s))})}#n(e,t,r){let o=this.#r(e,String(t));if(o!==void 0)return o;if(this.#e.hasEnded())return this.#e.askedLate(),ce().promise;let s=r();if(typeof s=="string")return this.#o(D("invalid_call",s));let a=this.#e.calls.next(this.#e.epoch,"",e,s.name);if(a===void 0)return this.#o(D("duplicate_call",`a call "${s.name}" is open already: give calls that run at the same time names of their own`));let d=this.#e.calls.open(a,"step"in s?{step:s.step,wait:void 0,start:i(()=>this.#e.start(d,s.run),"start")}:{step:void 0,wait:s.wait,start:i(()=>{},"start")});return this.#e.opened(d),d.result.promise}#r(e,t){let r=nt()?.step;if(r===void 0)return;let s=`${e==="step"?`ctx.step("${t.slice(0,200)}")`:`ctx.${Pm[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse(D("invalid_call",s,r)),Promise.reject(new Error(s))}#o(e){return this.#e.refuse(e),ce().promise}},Pm={consent:"consent",sleep:"sleep",signal:"waitForSignal",restart:"restart"};var ot=class{static{i(this,"Calls")}#e=new Map;#t=new Map;#n=new Map;#r=new Set;asked(){return this.#r.size}wasAsked(e){return this.#r.has(A(e))}next(e,t,r,o){let s=Ar({epoch:e,scope:t,name:o});if(this.#t.has(s))return;let a=A({epoch:e,scope:t,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:t,kind:r,name:o,nth:d}}open(e,t){let r={id:e,key:A(e),result:ce(),...t};return this.#n.set(r.key,r),this.#r.add(r.key),this.#t.set(Ar(e),r.key),r}find(e){return this.#n.get(A(e))}close(e){this.#n.delete(e.key),this.#t.delete(Ar(e.id))}openCalls(){return[...this.#n.values()]}};function Ar(n){return JSON.stringify([n.epoch,n.scope,n.name])}i(Ar,"placeOf");async function na(n){let{options:e}=n;for(let t=n.triesBefore+1;;t+=1){let r=await it(n,t);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:t};if(Nm(r.thrown)||t>=e.tries)return{outcome:"error",failure:r.failure,tries:t};if(n.hopSignal.aborted)return{outcome:"abandoned",tries:t};n.log.warn("a try of a step failed",{step:n.name,try:t,error:r.failure.name});let s=rn(e.backoff,t+1,n.chance());if(s>n.residentDelayMs)return{outcome:"later",tries:t,delayMs:s};if(await Rr(s,n.hopSignal),n.hopSignal.aborted)return{outcome:"abandoned",tries:t};if(n.whyNotNow()!==void 0)return{outcome:"later",tries:t,delayMs:0}}}i(na,"runStep");async function it(n,e){let{timeoutMs:t}=n.options,r=new AbortController,o=i(()=>r.abort(n.hopSignal.reason),"stop");n.hopSignal.addEventListener("abort",o,{once:!0}),n.hopSignal.aborted&&o();let s=!1,a=setTimeout(()=>{s=!0,r.abort(new DOMException(`step "${n.name}" did not end within ${t} ms`,"TimeoutError"))},t),d=setTimeout(n.onOverdue,t+n.overdueAfterMs);try{let{idempotencyKey:u,log:l}=n;return{outcome:"ok",value:await n.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:l})}}catch(u){let l=q(u);return{outcome:"error",thrown:u,failure:s?{name:"TimeoutError",message:`it did not end within ${t} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),n.hopSignal.removeEventListener("abort",o)}}i(it,"callOnce");function Nm(n){return n instanceof pe?!0:n instanceof Error&&n.name==="NonRetryableError"}i(Nm,"isNonRetryable");function Rr(n,e){return new Promise(t=>{if(e.aborted)return t();let r=i(()=>{clearTimeout(o),e.removeEventListener("abort",r),t()},"end"),o=setTimeout(r,n);e.addEventListener("abort",r,{once:!0})})}i(Rr,"pause");var ae=i(n=>({outcome:"stops",end:n}),"stops"),Lm=1e3,Tm=3e5;async function ra(n,e){let t=n.lastNumber,r=n.triesUsed;if(n.openIntent!==void 0){let o=await jm(n,n.openIntent,e);if(o!=="cannot_happen")return o}if(r>=n.options.tries)return ta(n,r,{name:"Error",message:"it did not happen"});for(;;){let o=n.whyNotNow();if(o!==void 0)return ae(o);if(t+=1,r+=1,await e.faults("worker.before-intent",n.call.name),!await e.ledger.intents.openIfClaimed(n.claim,n.call,t))return ae({kind:"fenced"});await e.faults("worker.after-intent",n.call.name);let s=await it(oa(n,n.call.name,n.run),r);if(s.outcome==="ok")return{outcome:"ok",value:s.value,tries:r,closesIntent:!0};if(!(s.thrown instanceof Pe))return Mm(n,r,s.failure);if(!await e.ledger.intents.closeIfClaimed(n.claim,n.call,t,"not_done"))return ae({kind:"fenced"});if(n.tried(t,r),r>=n.options.tries||n.hopSignal.aborted)return ta(n,r,s.failure);let a=rn(n.options.backoff,r+1,e.chance());if(a>e.settings.residentDelayMs)return{outcome:"later",tries:r,delayMs:a};await Rr(a,n.hopSignal)}}i(ra,"onceStep");function oa(n,e,t){let{options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d}=n,u=en(n.claim.firstRunId,n.call);return{name:e,run:t,options:r,hopSignal:o,log:s,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}i(oa,"callOf");function ta(n,e,t){return n.log.warn("an effect has certainly not happened",{step:n.call.name,tries:e}),{outcome:"error",failure:t,tries:e}}i(ta,"failedForGood");function Mm(n,e,t){return n.probe===void 0?ae(st(n,t.message)):(n.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:n.call.name,try:e}),ae({kind:"given_back",dueAt:new Date(n.ledgerNowMs()+Lm),why:`the outcome of "${n.call.name}" is unknown`}))}i(Mm,"unknownOutcome");function st(n,e){let{name:t}=n.call;return D("effect_unknown",`effect "${t}" may or may not have happened: ${e.slice(0,500)}`,t)}i(st,"effectUnknown");async function jm(n,e,t){if(!e.over){let s=e.overAt??new Date(n.ledgerNowMs()+Tm);return ae({kind:"given_back",dueAt:s,why:`an earlier worker may still carry out "${n.call.name}"`})}if(n.probe===void 0)return ae(st(n,"its worker was lost, and it has no probe"));let r=await Dr(n.probe,n);return typeof r=="string"?ae(st(n,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?ae(st(n,"its probe does not know")):await t.ledger.intents.closeIfClaimed(n.claim,n.call,e.number,"cannot_happen")?"cannot_happen":ae({kind:"fenced"})}i(jm,"askAbout");async function Dr(n,e){let t=await it(oa(e,`probe of ${e.call.name}`,n),1);return t.outcome==="error"?`its probe failed: ${t.failure.message.slice(0,300)}`:zm(t.value)?t.value:"its probe answered nothing that a probe answers"}i(Dr,"probe");function zm(n){return typeof n!="object"||n===null||!("outcome"in n)?!1:n.outcome==="happened"||n.outcome==="cannot_happen"||n.outcome==="unknown"}i(zm,"isAnswer");function me(n,e,t){return n.claimedAt.getTime()+e.clock.monotonicMs()-t.claimedAtMs}i(me,"ledgerNowMs");function Or(n,e,t,r,o){if(t.deadlineAt!==null&&me(t,r,o)>=t.deadlineAt.getTime())return D("deadline",`the run's deadline has passed before step "${n}"`,n);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}i(Or,"whyNotNow");var Gm=2**30;function Fm({name:n}){return D("journal_mismatch",`step "${n}" was begun as an effect that happens once, and nobody knows whether it did; the code calls it as a plain step now`,n)}i(Fm,"notPlain");async function ia(n,e){let{call:t,claim:r,run:o,hopSignal:s,log:a,effects:d,invocation:u}=n,l=e.settings.leaseHeld?{...n.options,timeoutMs:Gm}:n.options,c={run:o,options:l,hopSignal:s,log:a,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:i(()=>$r(n,e),"onOverdue"),whyNotNow:i(()=>Or(t.name,n.options.timeoutMs,r,e,u),"whyNotNow")};if(!l.once&&d.of(t).openIntent!==void 0)return{outcome:"stops",end:Fm(t)};try{await e.faults("worker.before-step",t.name);let m=l.once?await ra({...c,call:t,claim:r,probe:l.probe,...d.of(t),tried:i((y,w)=>d.tried(t,y,w),"tried"),ledgerNowMs:i(()=>me(r,e,u),"ledgerNowMs")},e):await na({...c,name:t.name,triesBefore:n.triesBefore,idempotencyKey:en(r.firstRunId,t),chance:e.chance,residentDelayMs:e.settings.residentDelayMs});return await e.faults("worker.after-step",t.name),m}catch(m){return l.once?{outcome:"stops",end:{kind:"unknown",error:m}}:{outcome:"error",failure:q(m),tries:1}}}i(ia,"liveStep");function $r({call:n,claim:e,log:t},r){Pr(e,`step_overdue: ${n.name}`,t,r)}i($r,"askForAPerson");function Pr(n,e,t,r){r.ledger.runs.raiseAttention(n,e).catch(o=>{t.warn("attention could not be raised",{reason:e,error:String(o).slice(0,200)})})}i(Pr,"raiseAttention");var at=class{static{i(this,"InFlight")}#e;#t;#n=[];#r=0;constructor(e,t){this.#e=e,this.#t=t}start(e,t){let{claim:r,deps:o,invocation:s,effects:a,nextTries:d,hopSignal:u,ended:l}=this.#t,c=e.step;if(c===void 0)return;let m=d.before(e);if(m===void 0)return;let y=Or(e.id.name,c.timeoutMs,r,o,s);if(y!==void 0)return y;e.wait=void 0,this.#r+=1;let{clock:w}=o,b=w.monotonicMs(),I=o.logFor(r),S={call:e.id,claim:r,run:t,options:c,hopSignal:u,log:I,effects:a,triesBefore:m,invocation:s};et({hop:this.#e,step:e.id.name},()=>ia(S,o)).then(V=>{this.#r-=1,this.#n.push({call:e,end:V,tookMs:w.monotonicMs()-b}),l()})}takeFinished(){return this.#n.shift()}hasFinished(){return this.#n.length>0}isEmpty(){return this.#r===0&&!this.hasFinished()}};var Um=100,Wm=2e3;async function $e(n,e){for(let t=Um;;t=Math.min(Wm,t*2))try{return await n()}catch(r){if(!(r instanceof $)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,t*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}i($e,"persist");var dt=class{static{i(this,"JournalWriter")}#e;#t;#n;#r;#o;constructor(e,t,r,o){this.#r=o,this.#e=e,this.#t=r,this.#o=e.journalBytes,this.#n=[...t]}entries(){return this.#n}async reject(e,t){try{let{tenantId:r,runId:o}=this.#e,s=Q(t.outcome==="ok"?t.value:t.failure),a=s===void 0?null:await this.#t.codec.encode(s,{tenantId:r,runId:o,kind:"result"});await this.#t.ledger.evidence.reject(this.#e,{call:A(e),outcome:t.outcome,bodyText:a,bodyDigest:a===null?null:C(a)}),await this.#i(e,t);return}catch(r){return r}}async#i(e,t){if(t.outcome!=="ok"||t.closesIntent!==!0)return;let{epoch:r,scope:o,kind:s,name:a,nth:d}=e,u=`[${[r,o,s,a,d].map(m=>JSON.stringify(m)).join(", ")}]`,{token:l}=this.#e;await this.#t.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l})}async write(e,t,r){try{return await this.#a(e,t,r)}catch(o){if(!(o instanceof G))return{written:!1,end:{kind:"unknown",error:o}};let s=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:D(o.reason,s,e.name)}}}async#a(e,t,r){let{tenantId:o,runId:s}=this.#e,a=Q(t.outcome==="ok"?t.value:t.failure),d=a===void 0?null:await this.#t.codec.encode(a,{tenantId:o,runId:s,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>ue)throw new G("too_large",`it would bring the run's journal above ${ue} bytes`);let l={...e,outcome:t.outcome,resultText:d,resultDigest:d===null?null:C(d),resultBytes:u,tries:t.tries,tookMs:r,closesIntent:t.outcome==="ok"&&t.closesIntent===!0},c=await $e(()=>this.#t.ledger.journal.appendIfClaimed(this.#e,l),this.#r);return c===null?{written:!1,end:{kind:"fenced"}}:(this.#o+=u,this.#n.push({...e,ordinal:c.ordinal,outcome:t.outcome,digest:d===null?null:C(d)}),await this.#t.faults("worker.after-journal",e.name),{written:!0,text:a,completedAt:c.completedAt})}};var ut=class{static{i(this,"NextTries")}#e;#t;#n;#r=new Map;#o=new Set;#i=!1;constructor(e,t,r){this.#e=e,this.#t=t,this.#n=r}before(e){let t=this.#r.get(e.key);if(t!==void 0)return t;let{triesBefore:r,dueAt:o}=this.#e.of(e.id);if(o===null||o.getTime()<=this.#t())return r;this.#a(e,o,r)}again(e,t,r){this.#i=!0,this.#a(e,t,r)}hasTried(){return this.#i}#a(e,t,r){e.wait={owner:"timer",dueAt:t,tries:r},this.#r.set(e.key,r);let o=setTimeout(()=>{this.#o.delete(o),e.start(),this.#n()},Math.min(2147483647,Math.max(0,t.getTime()-this.#t())));this.#o.add(o),this.#n()}stop(){for(let e of this.#o)clearTimeout(e)}};async function aa(n,e){await Oe();for(let t of n){if(sa(e))return;let r=await Km(t,e);if(r===void 0){let o=e.openCalls().map(s=>Y(s.id));return sa(e)?void 0:(e.missed(t,o),D("journal_mismatch",`journal entry ${t.ordinal} is ${Y(t)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`))}e.resolve(r,t),await Oe()}}i(aa,"replay");function sa(n){let e=n.end();return n.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}i(sa,"stops");async function Km(n,e){let t=e.nowMs();for(;;){let r=e.find(n);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-t>e.patienceMs)return;await Oe()}}i(Km,"askedFor");async function da(n){if(!n.still())return!1;let e=n.nowMs()+n.patienceMs,[t,r]=[n.asked(),n.nowMs()];for(;;){if(await Ks(),!n.still())return!1;if(t!==n.asked()&&([t,r]=[n.asked(),n.nowMs()]),!(n.nowMs()<r+n.restMs)&&(n.nowMs()>=e||n.hasAll()&&!Hs()))return!0}}i(da,"standsStill");function la(n){let{runId:e,agent:t,requestedBy:r,deadlineAt:o,journalBytes:s}=n.claim;s>ue&&n.asking.refuseAll(D("too_large",Jm));let a=new Xe(e,n.claim.epoch,"");return{runId:e,agent:t,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:n.abortSignal,log:Bm(n),step:i((d,u,l)=>n.asking.step(d,u,l),"step"),consent:i((d,u)=>n.asking.consent(d,u,r),"consent"),sleep:i((d,u)=>n.asking.sleep(d,u),"sleep"),waitForSignal:i((d,u)=>n.asking.signal(d,u),"waitForSignal"),first:Hm,restart:i(d=>n.asking.restart(d),"restart"),now:i(()=>new Date(n.now()),"now"),random:i(()=>ua("random",()=>a.random()),"random"),uuid:i(()=>ua("uuid",()=>a.uuid()),"uuid")}}i(la,"workflowContext");function Hm(n){let e=Object.entries(n);return e.length===0?Promise.reject(new pe("ctx.first({}) would wait for ever: give it named waits")):new Promise((t,r)=>{for(let[o,s]of e)s.then(a=>t({winner:o,value:a}),r)})}i(Hm,"first");function ua(n,e){let t=nt()?.step;if(t===void 0)return e();throw new pe(`ctx.${n}() was called inside step "${t}": draw outside, and use the value inside`)}i(ua,"outsideOfSteps");function Bm(n){let e=i(t=>(r,o)=>{n.isLive()&&n.log[t](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}i(Bm,"whileLive");var Jm=`what the run waited for has brought its journal above ${ue} bytes: ctx.restart goes on with an empty one`;var xe=class{static{i(this,"Hop")}#e;#t;#n;#r;#o;#i;#a;#u=new AbortController;#s=new ot;#m;#l;#f;#g;#p;#_=!1;#y=!0;#h=!1;#k=!1;#d;#x;#S=!1;#w=ce();constructor(e,t,r,o,s){this.#e=e,this.#t=t,this.#o=r.journal,this.#f=r.effects,this.#g=r.arms,this.#n=o,this.#r=s,this.#i=o.logFor(e);let a=i(()=>me(e,o,s),"nowMs");this.#m=new ut(r.retries,a,()=>this.#w.resolve()),this.#l=new at(this,{claim:e,deps:o,invocation:s,effects:r.effects,nextTries:this.#m,hopSignal:this.#u.signal,ended:i(()=>this.#w.resolve(),"ended")}),this.#p=e.startsAt??e.admittedAt,this.#a=new dt(e,r.journal,o,{chance:o.chance,mayGoOn:i(()=>this.mayWrite()&&s.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:i(d=>this.#i.warn("the ledger is out of reach; a result waits",{kind:d.kind}),"onPause")})}async run(e,t){if(this.#E(e),await this.#I(),t!==void 0&&!this.#k&&!this.#h&&this.#y){let o=await Us(()=>t(s=>this.#q(s)));o!==void 0&&(this.#c(o),this.#y&&(this.#d=o))}this.#_=!0;for(let o of this.#s.openCalls())o.start();let r=await this.#A();return this.#m.stop(),this.#$(r),this.#u.abort(new DOMException("the hop has ended","AbortError")),r}async openCalls(e,t){this.#E(e),await this.#I();let r=i(s=>this.#s.openCalls().some(a=>a.key===s),"isOpen");await this.#b(()=>t.every(r));let o=this.#s.openCalls();return this.#c({kind:"fenced"}),o}async rehearse(e,t){this.#E(e),await this.#I(),await this.#b(()=>t!=="its end"&&this.#v(t));let r=this.#s.openCalls().map(s=>s.id),o={missed:this.#x,end:this.#d,open:r};return this.#c({kind:"fenced"}),o}#v(e){return e.every(t=>this.#s.find(t)!==void 0)}async#q(e){return await this.#b(()=>this.#v(e)),this.#s.openCalls()}async#b(e){let t=this.#n.clock.monotonicMs();for(;this.#d===void 0&&!e();){if(this.#n.clock.monotonicMs()-t>this.#n.settings.replayPatienceMs)return;await Oe()}}fence(){this.#c({kind:"fenced"})}fail(e){this.#c(Cr(e))}drain(){this.#c({kind:"yielded",why:"drain"})}mayWrite(){return this.#y}journal(){return this.#a.entries()}standingTries(){return this.#s.openCalls().filter(({wait:e})=>typeof e?.tries=="number")}hasTried(){return this.#m.hasTried()}unanswered(){return{calls:this.#s.openCalls().map(({id:e})=>e),more:this.#S}}#E(e){let t=new rt({epoch:this.#e.epoch,stepLimitMs:this.#r.limitMs-this.#n.settings.settleReserveMs,sources:Object.keys(this.#n.decisionSources),calls:this.#s,now:i(()=>this.#p,"now"),hasEnded:i(()=>this.#d!==void 0,"hasEnded"),askedLate:i(()=>{this.#_&&this.#d!==void 0&&De(this.#d)&&(this.#S=!0)},"askedLate"),decide:i(s=>this.#c(s),"decide"),refuse:i(s=>{this.#h=!0,this.#c(s)},"refuse"),opened:i(s=>{this.#_&&s.start(),this.#w.resolve()},"opened"),start:i((s,a)=>{if(this.#d!==void 0&&!this.#O(this.#d,s))return;let d=this.#l.start(s,a);d!==void 0&&this.#c(d)},"start")}),r=la({claim:this.#e,log:this.#i,abortSignal:this.#u.signal,isLive:i(()=>this.#_||this.#o.length===0,"isLive"),now:i(()=>this.#p,"now"),asking:t});et({hop:this,step:void 0},i(async()=>this.#t.run(r,e),"body")).then(s=>this.#c({kind:"returned",output:s}),s=>this.#c(Cr(s)))}#c(e){let t=this.#d,r=e.kind==="fenced"||e.kind==="unknown"||t?.kind==="restarted"&&Fs(e);(t===void 0||r||De(t)&&!De(e))&&(this.#d=e),(e.kind==="fenced"||e.kind==="unknown")&&(this.#y=!1),e.kind!=="returned"&&!De(e)&&this.#u.abort(new DOMException("the run does not go on here","AbortError")),this.#w.resolve()}async#I(){let e=await aa(this.#o,{find:i(t=>this.#s.find(t),"find"),openCalls:i(()=>this.#s.openCalls(),"openCalls"),end:i(()=>this.#d,"end"),refused:i(()=>this.#h,"refused"),resolve:i((t,r)=>this.#C(t,r.outcome,r.text,r.tries,r.completedAt),"resolve"),missed:i((t,r)=>{this.#x={entry:t,asked:r}},"missed"),patienceMs:this.#n.settings.replayPatienceMs,nowMs:i(()=>this.#n.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#k=!0,this.#d=e)}async#A(){for(;;){let e=this.#l.takeFinished();if(e!==void 0)await this.#P(e);else{if(this.#d!==void 0&&this.#l.isEmpty())return this.#d;if(await this.#R())this.#c({kind:"parked",standing:this.#s.openCalls()});else if(!this.#l.hasFinished()&&!(this.#d!==void 0&&this.#l.isEmpty())){let t=setTimeout(()=>this.#D(),this.#n.settings.overdueAfterMs);await this.#w.promise,clearTimeout(t),this.#w=ce()}}}}#R(){let{clock:e,settings:t}=this.#n;return da({still:i(()=>this.#d===void 0&&this.#l.isEmpty()&&this.#s.openCalls().length>0&&this.#s.openCalls().every(({wait:r})=>r!==void 0),"still"),asked:i(()=>this.#s.asked(),"asked"),hasAll:i(()=>this.#g.every(({call:r})=>this.#s.wasAsked(r)),"hasAll"),nowMs:i(()=>e.monotonicMs(),"nowMs"),restMs:t.parkRestMs,patienceMs:t.replayPatienceMs})}#D(){this.#d!==void 0||!this.#l.isEmpty()||(this.#i.warn("the code waits for something that is no step and no wait, perhaps for ever"),Pr(this.#e,"code_overdue: it waits for what is no step and no wait",this.#i,this.#n))}#O(e,t){return e.kind==="returned"?!0:e.kind==="restarted"&&this.#f.of(t.id).openIntent!==void 0}#$(e){if(e.kind==="returned")for(let{id:t}of this.standingTries())this.#i.warn("a step has further tries that the workflow did not wait for",{step:t.name})}async#P({call:e,end:t,tookMs:r}){if(t.outcome==="stops")return this.#c(t.end);if(t.outcome==="abandoned")return;if(t.outcome==="later")return this.#m.again(e,new Date(me(this.#e,this.#n,this.#r)+t.delayMs),t.tries);if(!this.#y)return this.#N(e,t);let o=await this.#a.write(e.id,t,r);if(!o.written)return o.end.kind==="fenced"&&await this.#a.reject(e.id,t),this.#c(o.end);t.outcome==="error"&&this.#d?.kind==="returned"&&this.#i.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#C(e,t.outcome,o.text??null,t.tries,o.completedAt),await Oe()}async#N(e,t){let r=await this.#a.reject(e.id,t),o=r===void 0?void 0:q(r).message.slice(0,200),s=e.id.name;this.#i.warn("a step ended after its claim was gone; its result is rejected evidence",{step:s,error:o})}#C(e,t,r,o,s){this.#s.close(e),this.#p=s;let a=r===null?void 0:JSON.parse(r),d=e.wait?.receive;t==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new Se(e.id.name,o,a))}};var Vm={openIntent:void 0,lastNumber:0,triesUsed:0};async function ca(n,e){let t=n.seq===1?new Map:await Ym(n,e);return{of:i(r=>t.get(A(r))??Vm,"of"),tried:i((r,o,s)=>{t.set(A(r),{openIntent:void 0,lastNumber:o,triesUsed:s})},"tried"),open:i(()=>[...t.values()].flatMap(({openIntent:r})=>r??[]),"open")}}i(ca,"loadEffects");async function Ym(n,e){let[t,r]=await Promise.all([e.ledger.intents.openOfRun(n),e.ledger.intents.lastOfRun(n)]),o=new Map(t.map(s=>[A(s),s]));return new Map(r.map(s=>{let a=A(s);return[a,{openIntent:o.get(a),lastNumber:s.number,triesUsed:s.tries}]}))}i(Ym,"readEffects");async function ma(n,e){let t=n.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(n,n.epoch),r=new Map(t.map(o=>[A(o.call),o]));return{of:i(o=>{let s=r.get(A(o));return{triesBefore:s?.tries??0,dueAt:s?.dueAt??null}},"of")}}i(ma,"loadRetries");function lt(n){return C(JSON.stringify(n.map(e=>[e.ordinal,A(e),e.outcome,e.digest])))}i(lt,"journalDigest");function Ke(n,e){return{workflowDigest:n.workflow.digest,journalLength:n.journalStart+e.length,journalDigest:lt(e)}}i(Ke,"checkpointOf");var U=class extends Error{static{i(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},re=class extends Error{static{i(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function kn(n,e,t,r){if(e===null||C(n)!==e)throw new U(`${t} disagrees with its digest`);try{return await r(n)}catch(o){throw new re(`${t}: ${q(o).message.slice(0,200)}`)}}i(kn,"verified");async function ct(n,e,t){let r=n.journalLength-n.journalStart;if(e.length!==r)throw new U(`the journal has ${e.length} entries, the run says ${r}`);let o={tenantId:n.tenantId,runId:n.runId,kind:"result"};return Promise.all(e.map(async(s,a)=>{let d=n.journalStart+a+1;if(s.ordinal!==d)throw new U(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:c,kind:m,name:y,nth:w,outcome:b,tries:I,completedAt:S,resultText:J}=s,V=J===null?Xm(s):await kn(J,s.resultDigest,`journal entry ${u}`,fe=>m==="step"?t.decode(fe,o):Qm(fe,n,t));return{ordinal:u,epoch:l,scope:c,kind:m,name:y,nth:w,outcome:b,text:V,tries:I,completedAt:S,digest:s.resultDigest}}))}i(ct,"loadJournal");async function Qm(n,{tenantId:e,runId:t},r){let o=JSON.parse(n),s={...o};return o.decisions!==void 0&&(s.decisions=await Promise.all(o.decisions.map(async a=>({...a,comment:a.comment===null?null:await r.decode(a.comment,{tenantId:e,runId:t,kind:"comment"})})))),o.payload!==void 0&&(s.payload=o.payload===null?null:JSON.parse(await r.decode(o.payload,{tenantId:e,runId:t,kind:"signal"}))),JSON.stringify(s)}i(Qm,"decodeWaitResult");function Xm(n){if(n.resultDigest!==null)throw new U(`the result of journal entry ${n.ordinal} is gone`);return null}i(Xm,"emptied");function fa(n,e,t){let r=`checkpoint ${n.checkpointGeneration}`;if(e===null)throw new U(`${r} is missing`);if(e.workflowDigest!==n.workflow.digest)throw new U(`${r} is of another workflow digest`);if(e.journalDigest!==lt(t.slice(0,e.journalLength-n.journalStart)))throw new U(`${r} disagrees with the journal`)}i(fa,"verifyCheckpoint");async function He(n,e,t){let r=n.journalLength===n.journalStart?[]:await ct(n,await t.ledger.journal.read(n,n.journalStart),t.codec);n.checkpointGeneration!==null&&fa(n,await t.ledger.checkpoints.read(n,n.checkpointGeneration),r);let{tenantId:o,runId:s}=n,a=await kn(n.inputText,n.inputDigest,"the input",m=>t.codec.decode(m,{tenantId:o,runId:s,kind:"input"})),d=await ga(e,a);if("problem"in d)return D("input_invalid",`the input does not fit the workflow's schema: ${d.problem}`);let[u,l,c]=await Promise.all([ca(n,t),ma(n,t),n.checkpointGeneration===null?[]:t.ledger.arms.openOfRun(n)]);return{input:d.value,journal:r,effects:u,retries:l,arms:c}}i(He,"loadMaterial");function Be(n){return"journal"in n}i(Be,"isMaterial");async function pa(n,e){let t=await ga(n,e);return"problem"in t?t.problem:void 0}i(pa,"inputProblem");async function ga(n,e){try{let t=await n.input.safeParseAsync(JSON.parse(e));return t.success?{value:t.data}:{problem:t.error.message.slice(0,1500)}}catch(t){return{problem:q(t).message}}}i(ga,"inputOf");var mt=class{static{i(this,"Registry")}#e=new Map;#t=new Map;#n=new Map;constructor(e){for(let t of e){let{name:r,version:o}=t.definition,s=`${r}@${o}`;if(this.#e.has(s))throw new h("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(s,t);let a=this.#t.get(r);(a===void 0||a.definition.version<o)&&this.#t.set(r,t);for(let d of t.definition.accepts)this.#r(t,d)}}#r(e,t){let{name:r,version:o}=e.definition,s=`${r}@${t}`,a=this.#n.get(s);if(a!==void 0)throw new h("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${t}`,{fix:"Let one of them carry those runs on."});this.#n.set(s,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(Nr)}carried(){let e=[...this.#n].map(([r,{definition:o}])=>({name:o.name,version:o.version,digest:r.slice(o.name.length+1)})),t=[...this.pins(),...e].map(r=>[`${r.name}@${r.version}@${r.digest}`,r]);return[...new Map(t).values()]}choose(e,t){let r=t===void 0?this.#t.get(e):this.#e.get(`${e}@${t}`);if(r===void 0){let o=t===void 0?`"${e}"`:`"${e}" version ${t}`;throw new h("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}carrier(e){let t=this.find(e);return t?.digest===e.digest?t:this.#n.get(`${e.name}@${e.digest}`)}};function Nr({definition:n,digest:e}){return{name:n.name,version:n.version,digest:e}}i(Nr,"pinOf");function ft(n,e){let t=e.carrier(n);if(t!==void 0){let u=Nr(t);return{workflow:t.definition,adopts:u.digest===n.digest?void 0:u}}let r=e.find(n),o=r===void 0?"this worker has none of that name and version":`this worker has ${r.digest}`,{name:s,version:a,digest:d}=n;return{absent:`the run is pinned to workflow "${s}" version ${a} with digest ${d}; ${o}`}}i(ft,"pinnedWorkflow");var Zm=3e4;async function ya(n,e,t,r){let o=await t.ledger.workflows.buildOf(n.workflow),s=n.workflowAbsentSince,a=s===null?0:n.claimedAt.getTime()-s.getTime();if(o===null||a>=t.settings.deployOverlapMs){let c=o===null?"no build is known to have it":`build "${o}" is known to have it`,m=s===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${s.toISOString()}`;return D("workflow_changed",`${e}; ${c}, and ${m}`)}let{name:d,version:u,digest:l}=n.workflow;return t.logFor(n).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(me(n,t,r)+Zm),why:"this build lacks its workflow",workflowAbsent:!0}}i(ya,"endWithoutWorkflow");async function _a(n,e,t,r){let o={...Ke(n,t),workflowDigest:e.digest};if(await r.faults("worker.before-adopt",n.runId),!await r.ledger.runs.adoptIfClaimed(n,e,o))return{kind:"fenced"};r.logFor(n).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:n.workflow.digest})}i(_a,"adopt");async function wa(n,e,t,r){let o=new AbortController,s=!1,a=i(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:i(()=>{s=!0,a()},"fence"),drain:a});try{let d=(await e.ledger.items.ofRun(n)).filter(ef),u=ft(n.workflow,e.registry);if("absent"in u)return e.logFor(n).warn("a contain delivery has come to a build without the run's workflow",{workflow:n.workflow.name,version:n.workflow.version,digest:n.workflow.digest}),await pt(n,"refused",e);let l=await He(n,u.workflow,e);if(!Be(l))return await pt(n,"refused",e);let c=new xe(n,u.workflow,l,e,t),m=d.map(b=>ha(b.key)),y=new Map((await c.openCalls(l.input,m)).map(b=>[A(b.id),b])),w=await Promise.all(d.map(b=>nf(n,b,y.get(ha(b.key)),o.signal,e)));return s?{kind:"fenced"}:await pt(n,w.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof U)&&!(d instanceof re))throw d;return e.logFor(n).error("a contain delivery could not be begun",{error:d.message}),pt(n,"refused",e)}}i(wa,"carryContain");function ha(n){return JSON.stringify(JSON.parse(n))}i(ha,"sameKey");function ef(n){return n.kind==="effect"&&n.acknowledgedAt===null}i(ef,"isOpenEffect");async function nf(n,e,t,r,o){if(t?.step?.probe===void 0)return!1;let s=o.logFor(n),a=await Dr(t.step.probe,{call:t.id,claim:n,options:t.step,log:s,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:i(()=>$r({call:t.id,claim:n,log:s},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return s.warn("an effect of an ending run is still unknown",{step:t.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(n,{kind:"effect",key:e.key,by:"probe",words:d,under:n})!==null}i(nf,"settleEffect");async function pt(n,e,t){let{settled:r,ended:o}=await t.ledger.deliveries.settleContainIfClaimed(n,e);return r?(o===null&&(e!=="done"&&await t.ledger.runs.raiseAttention(n,`containment ${e}: an effect is still unknown`),await t.ledger.items.containSooner(n,t.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}i(pt,"finish");function Lr(n){let{title:e,deciders:t,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d}=n;return{title:e,deciders:t,quorum:r,expiresMs:o,onExpiry:s,requesterMayDecide:a,detail:d===void 0?null:JSON.parse(d)}}i(Lr,"contentOf");async function Tr(n,e,t,{ledger:r,codec:o}){let{tenantId:s,runId:a}=n,d=await r.consents.get({tenantId:s,consentId:e});if(d===null)return;let u=await kn(d.requestText,d.storedDigest,"a consent's request",w=>o.decode(w,{tenantId:s,runId:a,kind:"consent"})),l=Lr(t),c=JSON.parse(u),m=Object.keys(l),y=Object.fromEntries(m.map(w=>[w,c[w]]));return ge(y)===ge(l)?d.requestDigest:void 0}i(Tr,"digestOfSameRequest");function Mr({arms:n,effects:e}){return[...n.flatMap(({call:r})=>r.kind==="step"?[]:[r]),...e.open()]}i(Mr,"callsOf");async function ka(n,e,t,r){let o=new Map(t.map(d=>[d.key,d])),s=Mr(e).find(d=>!o.has(A(d)));if(s!==void 0)return`${Y(s)} stands open, and the code does not ask for it`;let a=e.effects.open().find(d=>o.get(A(d))?.step?.once!==!0);if(a!==void 0)return`nobody knows whether the effect of ${Y(a)} has happened, and the code calls it as a plain step`;for(let{call:d,consentId:u}of e.arms){let l=o.get(A(d))?.wait?.consent;if(!(u===null||l===void 0)&&await Tr(n,u,l,r)===void 0)return`${Y(d)} was frozen with another request than the code asks for`}}i(ka,"takeoverProblem");function gt(n,e,t){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let s={call:r,armId:t.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a}=o;return a===void 0?[Promise.resolve(s)]:[tf(n,a,t).then(d=>({...s,consent:d}))]}))}i(gt,"standingOf");async function tf(n,e,{codec:t,ids:r}){let{title:o,deciders:s,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,source:c}=e,m=ge({runId:n.runId,workflow:n.workflow,...Lr(e)}),{tenantId:y,runId:w}=n,[b,I]=await jr(`the consent "${o}"`,async()=>[await t.encode(m,{tenantId:y,runId:w,kind:"consent"}),t.digest===void 0?C(m):await t.digest(m)]);return{consentId:r.next(),title:o,requestText:b,storedDigest:C(b),requestDigest:I,deciders:s,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:c}}i(tf,"frozen");async function jr(n,e){try{return await e()}catch(t){throw new re(`${n}: ${q(t).message.slice(0,200)}`)}}i(jr,"encoded");async function zr(n,{journal:e,calls:t,idle:r,dueAt:o},s,a){let{deliveries:d}=a.ledger,u=Ke(n,e),l={idle:r,publisherGraceSeconds:a.settings.publisherGraceSeconds,...o===void 0?{}:{dueAt:o}},c=await gt(n,t,a);await a.faults("worker.before-handover",n.runId);let m=c.length===0?await d.yieldIfClaimed(n,u,l):await d.yieldStandingIfClaimed(n,u,c,l);return await a.faults("worker.after-handover",n.runId),m===null?{kind:"fenced"}:(o===void 0&&await yt(n,m,a),{kind:"handed_over",why:s})}i(zr,"handOver");async function Gr(n,e,t){await t.faults("worker.before-handover",n.runId);let r=await t.ledger.deliveries.giveBackIfClaimed(n,e.dueAt,e.workflowAbsent);return await t.faults("worker.after-handover",n.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}i(Gr,"giveBack");async function yt(n,e,t){let{tenantId:r,runId:o}=n;await t.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}i(yt,"publishNext");async function xa(n,e,t,r){let o=await gt(n,t,r);await r.faults("worker.before-park",n.runId);let s=Ke(n,e),{publisherGraceSeconds:a}=r.settings,d=i(()=>r.ledger.deliveries.parkIfClaimed(n,s,o,{publisherGraceSeconds:a}),"commit"),u=await d();for(;u?.kind==="mismatch"&&u.consentId!==void 0;){let{consentId:l,key:c}=u,m=t.find(w=>w.key===c)?.wait?.consent,y=m===void 0?void 0:await Tr(n,l,m,r);if(y===void 0)break;o=o.map(w=>w.consent===void 0||A(w.call)!==c?w:{...w,consent:{...w.consent,requestDigest:y}}),u=await d()}if(await r.faults("worker.after-park",n.runId),u===null)return{kind:"fenced"};switch(u.kind){case"mismatch":return{kind:"refused",end:D("journal_mismatch",`${u.what}: the code has changed or is not deterministic`)};case"continued":return await yt(n,u.next,r),{kind:"handed_over",why:"what it waited for had happened"};case"parked":return await rf(n,u.arms,r),{kind:"parked",status:u.status}}}i(xa,"park");async function rf(n,e,t){let r=e.flatMap(({armId:a,dueInSeconds:d,call:u,seq:l})=>{if(d===null||d>X)return[];if(l!==n.seq&&u.kind!=="step")return[];let c=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:n.tenantId,queue:n.queue,delaySeconds:c}]});if(r.length===0)return;let o=await t.queue.wake(r),[s]=o;s!==void 0&&t.logFor(n).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:s})}i(rf,"wakeInTime");async function ba(n,e,t){let r=await of(n,e,t);if("end"in r)return{kind:"refused",end:r.end};await t.faults("worker.before-restart",n.runId);let o=await t.ledger.runs.restartIfClaimed(n,{inputText:r.stored,inputDigest:C(r.stored),workflowDigest:n.workflow.digest,journalDigest:lt([]),epoch:n.epoch},{publisherGraceSeconds:t.settings.publisherGraceSeconds});return await t.faults("worker.after-restart",n.runId),o===null?{kind:"fenced"}:(await yt(n,o,t),{kind:"handed_over",why:"restart"})}i(ba,"restart");async function of(n,e,t){let r=i((o,s)=>({end:D(o,`ctx.restart: the new input ${s}`)}),"refuse");try{let o=Q(e)??"null",s=t.registry.find(n.workflow)?.definition,a=s===void 0?void 0:await pa(s,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=n,l={tenantId:d,runId:u,kind:"input"};return{stored:await jr("the input of a restart",()=>t.codec.encode(o,l))}}catch(o){if(o instanceof G)return r(o.reason,o.message);throw o}}i(of,"newInput");import{setTimeout as df}from"node:timers/promises";async function _t(n,e,t,r){let{tenantId:o,runId:s}=n,a=t.kind==="returned"?await af(e,t.output):t.failure;if(sf(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:s,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:C(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:s,kind:"output"});return{status:"DONE",outputText:d,outputDigest:C(d)}}i(_t,"settlementOf");function sf(n){return"code"in n}i(sf,"isFailure");async function af(n,e){try{let t=await n?.output?.safeParseAsync(e);return t!==void 0&&!t.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${t.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:Q(t===void 0?e:t.data)}}catch(t){return t instanceof G?{code:t.reason,name:"Refused",message:`what the workflow returned: ${t.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${q(t).message.slice(0,500)}`}}}i(af,"outputOf");async function Ea(n,e,t){await t.faults("worker.before-settle",n.runId);let r=await t.ledger.deliveries.settleIfClaimed(n,e);return await t.faults("worker.after-settle",n.runId),r}i(Ea,"settle");var uf="Code outside of steps must do the same each time: use ctx.now(), ctx.random() and ctx.uuid() instead of Date.now(), Math.random() and crypto.randomUUID(), and read what may change inside a step.";async function va(n,e,t){let{claim:r,workflow:o}=n,s=e.logFor(r);try{await e.faults("worker.before-replay-check",r.runId),await lf(e);let a=await cf(n,e,t);if(a!==void 0){let{name:d,version:u}=o;s.warn(`${d}: on replay, ${a}`,{check:"replay",workflow:d,version:u,fix:uf})}await e.faults("worker.after-replay-check",r.runId)}catch(a){s.warn("a hop could not be replayed for the check",{error:q(a).message.slice(0,200)})}}i(va,"checkReplay");async function lf({clock:n}){let e=n.wallMs();for(;n.wallMs()<=e;)await df(1)}i(lf,"untilLater");async function cf(n,e,t){let{claim:r,workflow:o,end:s,unanswered:a,journalLength:d}=n;if(s.kind==="failed"&&s.failure.code==="journal_mismatch")return;let u={...r,journalLength:r.journalStart+d},l=d===0?[]:await e.ledger.journal.read(r,r.journalStart),c=await ct(u,l.slice(0,d),e.codec),m=await He({...r,journalLength:r.journalStart,checkpointGeneration:null,seq:1},o,e);if(!Be(m))return;let y={...e,log:Sa,logFor:i(()=>Sa,"logFor")},b=await new xe(u,o,{...m,journal:c},y,{...t,remainingMs:i(()=>t.limitMs,"remainingMs")}).rehearse(m.input,Fr(s)?"its end":a.calls),{missed:I}=b;if(I===void 0)return mf(n,b);let S=I.asked.length===0?"not asked for":I.asked.join(", ").slice(0,500);return`call ${I.entry.ordinal} is ${S} where the run had ${Y(I.entry)}`}i(cf,"differenceOf");async function mf({claim:n,workflow:e,end:t,unanswered:r},{end:o,open:s}){let a=o!==void 0&&Fr(o)?o:void 0;if(t.kind==="parked"||De(t))return ff(r,a,s);if(!Fr(t))return;if(a===void 0){let l=Ca(s);return l!==""?`it asks for ${l} where the run ${xn(t)}`:`it does not come to its end, where the run ${xn(t)}: it waits for something outside of steps`}let[d,u]=await Promise.all([Ia(n,e,t),Ia(n,e,a)]);if(d!==u)return a.kind!==t.kind||t.kind==="failed"?`it ${xn(a)} where the run ${xn(t)}`:t.kind==="returned"?"it returns something else than in the run":"it continues as new with another input than in the run"}i(mf,"differenceOfEnds");function ff({calls:n,more:e},t,r){let o=new Set(r.map(A)),s=n.find(u=>!o.has(A(u)));if(s===void 0&&!(e&&t!==void 0))return;let a=s===void 0?"went on":`asked for ${Y(s)}`;return`it ${t===void 0?`asks for ${Ca(r)||"nothing"}`:xn(t)} where the run ${a}`}i(ff,"differenceOfCalls");function Ca(n){return n.map(Y).join(", ").slice(0,500)}i(Ca,"inList");function Fr(n){return n.kind==="returned"||n.kind==="restarted"?!0:n.kind==="failed"&&(n.failure.code==="workflow_failed"||n.failure.code==="step_failed")}i(Fr,"isOfCode");function xn(n){return n.kind==="returned"?"returned":n.kind==="restarted"?"continued as new":`failed (${n.failure.name}: ${n.failure.message.slice(0,200)})`}i(xn,"inWords");async function Ia(n,e,t){if(t.kind==="failed"){let{code:o,name:s,message:a,step:d}=t.failure;return JSON.stringify([o,s,a,d??null])}if(t.kind==="restarted")return pf(t.input);let r=await _t(n,e,t,{codec:Lt});return r.status==="DONE"?`DONE ${r.outputDigest}`:`FAILED ${r.errorDigest}`}i(Ia,"endOf");function pf(n){try{return Q(n)??"null"}catch(e){return q(e).message}}i(pf,"newInputOf");var Sa={debug:i(()=>{},"debug"),info:i(()=>{},"info"),warn:i(()=>{},"warn"),error:i(()=>{},"error")};async function Aa(n,e,t,r){try{await e.faults("worker.after-claim",n.runId);let o=n.cause==="contain"?await wa(n,e,t,r):await gf(n,e,t,r);return o.kind==="fenced"&&await wf(n,e),o}catch(o){return o instanceof U?xf(n,o.message,e):o instanceof re?kf(n,o,e,t):{kind:"unknown",error:o}}}i(Aa,"carry");async function gf(n,e,t,r){let o=ft(n.workflow,e.registry);if("absent"in o){let S=await ya(n,o.absent,e,t);return be(n,S,e,t,void 0)}let s=await He(n,o.workflow,e);if(!Be(s)){if(o.adopts!==void 0&&s.kind==="failed")throw qa(o.adopts,s.failure.message);return be(n,s,e,t,void 0)}if(n.deadlineAt!==null&&n.claimedAt>=n.deadlineAt){let S=`the run's deadline ${n.deadlineAt.toISOString()} had passed when a worker claimed it`;return be(n,D("deadline",S),e,t,void 0)}if(n.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(n))return{kind:"fenced"};let a=new xe(n,o.workflow,s,e,t);r.onHop(a);let{adopts:d,workflow:u}=o,l=!1,c=i(async(S,J)=>{let V=await ka(n,s,await J(Mr(s)),e);if(V!==void 0)return D("journal_mismatch",V);let fe=await _a(n,S,s.journal,e);return l=fe===void 0,fe},"takeOver"),m=await a.run(s.input,d===void 0?void 0:S=>c(d,S));if(d!==void 0&&!l&&m.kind==="unknown"&&yf(m.error))throw m.error;let y=a.unanswered();if(d!==void 0&&!l&&m.kind==="failed")throw qa(d,m.failure.message);let w=d===void 0||!l?n:{...n,workflow:d},b=await be(w,m,e,t,a),I=b.kind!=="fenced"&&b.kind!=="unknown"&&b.kind!=="quarantined";if(e.settings.replayCheck&&I){let S={claim:w,workflow:u,end:m,unanswered:y,journalLength:a.journal().length};va(S,e,t)}return b}i(gf,"carryHop");function yf(n){return n instanceof re||n instanceof U}i(yf,"isOfMaterial");function qa(n,e){return new U(`workflow digest ${n.digest} accepts the run's, but ${e}`)}i(qa,"untrue");async function be(n,e,t,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":{let[s,a]=[o?.journal()??[],o?.standingTries()??[]];return $e(()=>a.length===0?Gr(n,e,t):zr(n,{journal:s,calls:a,idle:!1,dueAt:e.dueAt},e.why,t),ht(n,t,r,o))}case"yielded":{let s=o?.journal()??[],a=s.length-(n.journalLength-n.journalStart),d=e.why==="time"&&o!==void 0&&a===0&&!o.hasTried();if(!d||n.idleYields===0){let u=o?.standingTries()??[];return $e(()=>zr(n,{journal:s,calls:u,idle:d},e.why,t),ht(n,t,r,o))}return be(n,D("no_progress",_f),t,r,o)}case"parked":case"restarted":{let s=o?.journal()??[];if(e.kind==="restarted"&&s.length===0)return be(n,D("no_progress",hf),t,r,o);let a=await $e(()=>e.kind==="parked"?xa(n,s,e.standing,t):ba(n,e.input,t),ht(n,t,r,o)).catch(d=>{if(d instanceof re)return d;throw d});return a instanceof re?be(n,Ra(n,a,t,r),t,r,o):a.kind==="refused"?be(n,a.end,t,r,o):a}case"returned":case"failed":{let s=t.registry.find(n.workflow)?.definition,a=await _t(n,s,e,t),d=await $e(()=>Ea(n,a,t),ht(n,t,r,o));if(!d.settled)return{kind:"fenced"};a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await t.ledger.runs.raiseAttention(n,"effect_unknown: an effect may or may not have happened");let u=a.status==="FAILED"?a.errorCode:void 0;return{kind:"settled",status:d.runStatus,...u===void 0?{}:{code:u}}}}}i(be,"conclude");function ht(n,e,t,r){return{chance:e.chance,mayGoOn:i(()=>r?.mayWrite()!==!1&&t.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:i(o=>e.logFor(n).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}i(ht,"persistenceOf");var _f="two invocations in a row ended without a new journal entry: a step does not fit into one",hf="ctx.restart without a single journaled call before it would go on for ever";async function wf(n,e){try{await e.ledger.items.acknowledgeWorker(n)}catch(t){e.logFor(n).warn("a worker could not acknowledge its own end",{error:String(t).slice(0,200)})}}i(wf,"acknowledge");function Ra(n,e,t,r){return t.logFor(n).error("a codec could not do its work; the delivery goes back",{error:e.message}),{kind:"given_back",dueAt:new Date(me(n,t,r)+3e4),why:"a codec could not do its work"}}i(Ra,"afterCodec");async function kf(n,e,t,r){try{return await Gr(n,Ra(n,e,t,r),t)}catch(o){return{kind:"unknown",error:o}}}i(kf,"later");async function xf(n,e,t){try{return await t.ledger.runs.quarantineIfClaimed(n,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}i(xf,"quarantine");var bf=10;async function Da(n,e){let t=new Map;return await Promise.all(n.map(async({messageId:r,body:o})=>{let s=$t(o);s!==void 0&&t.set(r,await Ef(s,e))})),t}i(Da,"wakeUp");async function Ef(n,{ledger:e,publisher:t,settings:r,log:o,faults:s}){try{let a=await e.arms.runOf(n);if(a===null||!a.open)return{done:!0,reason:"timer_closed"};let{tenantId:d,runId:u,dueInSeconds:l}=a;if(l!==null&&l>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(X,Math.ceil(l))};let c=await e.runs.resume({tenantId:d,runId:u},r.publisherGraceSeconds);return await s("worker.after-wake",u),c===null?{done:!0,reason:"timer_kept"}:(o.info("a run was brought back by its timer",{runId:u,armId:n,lateSeconds:Math.round(-(l??0))}),await t.publish(c),{done:!0,reason:"timer_woke"})}catch(a){return o.warn("a timer's message could not be followed; it comes back",{armId:n,error:q(a).message.slice(0,200)}),{done:!1,reason:"timer_unknown",retryInSeconds:bf}}}i(Ef,"wakeArm");async function Je({tenantId:n,runId:e},t,{codec:r,log:o}){try{let s=await r.encode(JSON.stringify(t),{tenantId:n,runId:e,kind:"error"});return{errorText:s,errorDigest:C(s)}}catch(s){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:t.code,error:q(s).message.slice(0,200)});return}}i(Je,"keptFailure");async function wt(n,e={}){let{ledger:t,publisher:r,faults:o,log:s,settings:a}=n,{found:d,next:u}=await t.deliveries.lapsed(n.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(w=>If(w,n)))).flat(),c=await t.deliveries.settleLost(l,a);await o("reanimation.after-judgement",`${c.length} judged`);let m=c.filter(w=>w.status==="QUEUED");for(let{runId:w,status:b,enqueueSeq:I}of c)s.warn("a worker was lost",{runId:w,status:b,enqueueSeq:I});return await Promise.all(m.map(w=>r.publish(w))),{counts:{lapsed:d.length,resumed:m.length,failing:c.filter(w=>w.status==="FAILING").length,failed:d.length-l.length},next:u}}i(wt,"reanimate");async function If(n,e){if(n.onWorkerLoss==="resume"&&n.losses+1<e.settings.maxLosses)return[{...n,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:n.onWorkerLoss==="fail"?`the worker of delivery ${n.seq} was lost, and the workflow does not resume`:`the worker of delivery ${n.seq} was lost, and the run has used up its losses (${n.losses+1})`},o=await Je(n,r,e);return o===void 0?[]:[{...n,...o}]}i(If,"withFailure");var kt=class{static{i(this,"Heartbeat")}#e;#t=new Set;#n;#r;#o;#i;#a;constructor(e,t){this.#e=e,this.#n=t,this.#r=t}start(e){for(let r of e)this.#t.add(r);if(this.#t.size===0)return;let t=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#m(),t),this.#a=this.#f([...this.#t])}remove(e){this.#t.delete(e),this.#t.size===0&&this.#u()}async stop(){this.#u(),this.#t.clear(),await this.#i,await this.#a}#u(){clearInterval(this.#o),this.#o=void 0}#s(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#m(){let e=this.#s(),{leaseMs:t,beatMs:r,leaseHeld:o}=this.#e;if(!o&&Oa(this.#n,e)>t*.9){this.#g("its own lease could not be extended in time");return}this.#i!==void 0||Oa(this.#r,e)<r||(this.#r=e,this.#i=this.#l(e).finally(()=>{this.#i=void 0}))}async#l(e){let{ledger:t,faults:r,leaseMs:o,log:s}=this.#e,a=[...this.#t];try{await r("worker.before-beat",`${a.length} claims`);let d=await t.deliveries.beatIfClaimed(a.map(c=>c.claim),o/1e3);this.#n=e;let u=a.filter(c=>d.has(`${c.claim.runId}:${c.claim.seq}`));for(let c of a)u.includes(c)||this.#p(c,"the ledger has given it to nobody or to another");let l=this.#a;this.#a=Promise.resolve(l).then(()=>this.#f(u))}catch(d){s.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#f(e){let{queue:t,queueName:r,leaseMs:o,log:s}=this.#e,a=e.filter(d=>this.#t.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await t.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&s.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){s.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#g(e){for(let t of this.#t)this.#p(t,e)}#p(e,t){this.#t.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:t}),e.fence(t),this.#t.size===0&&this.#u())}};function Oa(n,e){return Math.max(e.monotonicMs-n.monotonicMs,e.wallMs-n.wallMs)}i(Oa,"since");async function Pa(n,e,t){let r=Da(n,e),o=new Map;for(let d of n){let u=Sn(d.body);if(u===void 0)continue;let l=o.get(de(u));l===void 0?o.set(de(u),{...u,receiptHandles:[d.receiptHandle]}):l.receiptHandles.push(d.receiptHandle)}let[s,a]=await Promise.all([Sf(o,e,t),r]);return Promise.all(n.map(async d=>{let u=a.get(d.messageId);if(u!==void 0)return u.retryInSeconds!==void 0&&await $a(d,u.retryInSeconds,e,t),{messageId:d.messageId,done:u.done,reason:u.reason};let l=Sn(d.body);if(l===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:d.messageId,bytes:Buffer.byteLength(d.body)}),{messageId:d.messageId,done:!1,reason:"poison"};let c=s.get(de(l))??{done:!1,reason:"unknown_outcome"};return c.retryInSeconds!==void 0&&await $a(d,c.retryInSeconds,e,t),{messageId:d.messageId,done:c.done,reason:c.reason}}))}i(Pa,"work");async function Sf(n,e,t){let r=[...n.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[de(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,s={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await Af(r,e,t)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:xt(u)});let l={done:!1,reason:"unclaimed",retryInSeconds:vf};return new Map(r.map(c=>[de(c),l]))}for(let[u,l]of await Cf(a,n,s,e,t)){let c=Rf(u,l,e);c!==void 0&&o.set(de({runId:u.runId,enqueueSeq:u.seq}),c)}let d=r.filter(u=>!o.has(de(u)));for(let[u,l]of await Df(d,e))o.set(u,l);return o}i(Sf,"carryAll");var vf=10;async function Cf(n,e,t,r,o){let{limitMs:s,remainingMs:a}=o,{leaseMs:d,beatMs:u,leaseHeld:l}=r.settings,c=new kt({...r,leaseMs:d,beatMs:u,leaseHeld:l,queueName:o.queue},t),m=n.map(S=>qf(S,e.get(de({runId:S.runId,enqueueSeq:S.seq}))));c.start(m.map(S=>S.beating));let y=i(()=>m.forEach(S=>S.drain()),"drain");r.draining.addEventListener("abort",y,{once:!0}),r.draining.aborted&&y();let w=[],b=Promise.all(m.map(async S=>{let J={limitMs:s,remainingMs:a,claimedAtMs:t.monotonicMs};w.push([S.claim,await Aa(S.claim,r,J,{onHop:S.onHop})]),c.remove(S.beating)})),I=await oe(b,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",y),await c.stop(),I||r.exit(`${n.length-w.length} steps are in flight at the end of the invocation`),w}i(Cf,"carryBatch");function qf(n,e){let t,r,o=i(a=>{r=r==="fence"?r:a,t?.[a]()},"say"),s={claim:n,receiptHandles:e?.receiptHandles??[],fence:i(()=>o("fence"),"fence")};return{claim:n,beating:s,drain:i(()=>o("drain"),"drain"),onHop:i(a=>{t=a,r!==void 0&&a[r]()},"onHop")}}i(qf,"carriedRun");function Af(n,e,t){let r=Math.max(1,t.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(n.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:t.endsByForce?r+e.settings.actsMarginSeconds:null})}i(Af,"claim");function Rf(n,e,t){let r=t.logFor(n);switch(e.kind){case"settled":return r[e.code===void 0?"info":"warn"]("run settled",{status:e.status,workflow:n.workflow.name,...e.code===void 0?{}:{code:e.code,fix:"`ghouls show` tells why"}}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:xt(e.error)}),{done:!1,reason:"unknown_outcome"}}}i(Rf,"verdictOf");async function Df(n,e){if(n.length===0)return[];try{let t=await e.ledger.deliveries.unclaimed(n),r=[...t].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await wt({...e,pageSize:r.length},{runIds:r.map(([o])=>o.slice(0,o.indexOf(":")))}),t=await e.ledger.deliveries.unclaimed(n)),n.map(o=>{let s=Jt(t.get(de(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:s.reason}),[de(o),s.deleteMessage?{done:!0,reason:s.reason}:{done:!1,reason:s.reason,retryInSeconds:s.retryInSeconds}]})}catch(t){return e.log.error("skipped deliveries could not be read; their messages go back",{error:xt(t)}),[]}}i(Df,"explain");async function $a(n,e,t,r){try{await t.queue.changeVisibility(r.queue,n.receiptHandle,e)}catch(o){t.log.warn("a message's visibility could not be changed",{messageId:n.messageId,error:xt(o)})}}i($a,"putBack");function de(n){return`${n.runId}:${n.enqueueSeq}`}i(de,"keyOf");function xt(n){let{name:e,message:t}=q(n);return`${e}: ${t}`.slice(0,300)}i(xt,"nameOf");var Of=2e3;function La({ledger:n,codec:e,publisher:t,faults:r}){let o=i(async a=>{let[d,u]=await Promise.all([Nf(a,e),n.consents.decisions(a)]);return{...Na(a),detail:d.detail,decisions:await Lf(a,u,e)}},"viewOf"),s=i(async a=>{let d=await n.consents.decisions(a);return{...Na(a),decisions:d.map(({by:u,verdict:l,at:c})=>({by:u,verdict:l,at:c.toISOString()})),problem:a.intact?null:`its ${Ta}`}},"summaryOf");return{get:i(async(a,d)=>{if(!j(d))return;let u=await n.consents.get({tenantId:a,consentId:d});return u===null?void 0:o(u)},"get"),list:i(async(a,d,u)=>{let{consents:l,next:c}=await n.consents.page(a,d,{limit:u.limit,...u.cursor===void 0?{}:{after:Mf(u.cursor)}});return{consents:await Promise.all(l.map(s)),nextCursor:c===void 0?null:Tf(c)}},"list"),decide:i(async(a,d,u)=>{let l=j(d)?await $f({ledger:n,codec:e},a,d,u):null;if(l===null)throw jf();await r("consents.after-commit",d);let{judgement:c,consent:m,resumption:y}=l;return y!==null&&await oe(t.publish(y),Of),Pf(c,m),{consentId:d,runId:m.runId,status:m.status,repeated:c.kind==="repeated",resumed:y!==null}},"decide")}}i(La,"createConsents");async function $f({ledger:n,codec:e},t,r,{verdict:o,digest:s,comment:a}){let{tenantId:d,subject:u,roles:l}=t,c=await n.consents.get({tenantId:d,consentId:r});if(c===null)return null;let m=a===void 0?null:await e.encode(a,{tenantId:d,runId:c.runId,kind:"comment"});return n.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:s,commentText:m,commentDigest:m===null?null:C(m)},{publisherGraceSeconds:15})}i($f,"decide");function Pf(n,e){switch(n.kind){case"counts":case"repeated":return;case"not_a_decider":throw new h("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new h("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new h("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new h("consent_closed",`you have said "${n.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new h("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new h("consent_closed",`the consent is ${n.status} already, by ${n.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}i(Pf,"refuseWhatDidNotCount");var Ta="request disagrees with its digest";async function Nf(n,e){let{tenantId:t,runId:r,requestText:o,storedDigest:s}=n;if(C(o)!==s)throw new h("integrity_fault",`of consent ${n.consentId} the ${Ta}`);let a=await e.decode(o,{tenantId:t,runId:r,kind:"consent"});return JSON.parse(a)}i(Nf,"requestOf");async function Lf({tenantId:n,runId:e},t,r){return Promise.all(t.map(async({by:o,verdict:s,at:a,commentText:d})=>({by:o,verdict:s,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:n,runId:e,kind:"comment"})})))}i(Lf,"decodedDecisions");function Na(n){return{consentId:n.consentId,runId:n.runId,workflow:n.workflow,title:n.title,status:n.status,digest:n.requestDigest,deciders:[...n.deciders],quorum:n.quorum,requestedBy:n.requestedBy,requesterMayDecide:n.requesterMayDecide,onExpiry:n.onExpiry,source:n.source,createdAt:n.createdAt.toISOString(),expiresAt:n.expiresAt?.toISOString()??null,closedAt:n.closedAt?.toISOString()??null,closedBy:n.closedBy}}i(Na,"shownOf");function Ma(n){return P("consent").includes(n)}i(Ma,"isConsentStatus");function Tf({micros:n,consentId:e}){return Buffer.from(`${n} ${e}`).toString("base64url")}i(Tf,"cursorOf");function Mf(n){let[e="",t=""]=Buffer.from(n,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!j(t))throw new h("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,consentId:t}}i(Mf,"positionOf");function jf(){return new h("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}i(jf,"absent");function Ur(n){return n.kind==="worker"?`worker-${n.key}`:`${n.kind}-${C(n.key).slice(0,12)}`}i(Ur,"itemId");function ja(n){return{id:Ur(n),kind:n.kind,subject:n.kind==="worker"?n.worker:zf(n.key),enqueueSeq:n.seq,overAt:n.overAt?.toISOString()??null,createdAt:n.createdAt.toISOString(),acknowledgedAt:n.acknowledgedAt?.toISOString()??null,acknowledgedBy:n.acknowledgedBy,acknowledgement:n.acknowledgement}}i(ja,"itemView");function zf(n){let[,,,e]=JSON.parse(n);return e}i(zf,"stepOf");function za({ledger:n,publisher:e,settings:t}){return{cancel:i(async(r,o,s)=>{if(!j(o))throw Ee();let a={tenantId:r.tenantId,runId:o},d=await n.runs.cancel(a,{actor:r.subject,reason:s},t.actsMarginSeconds);if(d===null)throw Ee();return{runId:o,cancelled:d.cancelled,status:d.status}},"cancel"),clear:i(async(r,o,s)=>{if(!j(o))throw Ee();let a=await n.runs.clearQuarantine({tenantId:r.tenantId,runId:o},{actor:r.subject,reason:s},15);if(a===null)throw Ee();return a.resumption!==null&&await e.publish(a.resumption),{runId:o,cleared:a.cleared,status:a.status}},"clear"),resolve:i(async(r,o,s,a)=>{if(!j(o))throw Ee();let d={tenantId:r.tenantId,runId:o},u=(await n.items.ofRun(d)).find(w=>w.acknowledgedAt===null&&Ur(w)===s);if(u===void 0)throw Ee();let{kind:l,key:c}=u,m=await n.items.acknowledge(d,{kind:l,key:c,by:"operator",words:a},{actor:r.subject,reason:a});if(m===null)throw Ee();let y=m.ended??(await n.runs.get(d))?.status;if(y===void 0)throw Ee();return{runId:o,item:s,openItems:m.openItems,status:y}},"resolve")}}i(za,"createControl");function Ee(){return new h("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}i(Ee,"absent");var Gf="0".repeat(64);function Ga({ledger:n,log:e}){return async t=>{let r=vt(t);if(r===void 0)return;let o=await n.keys.byId(r.keyId),s=Qe(r.digest,o?.digest??Gf);if(o===null||!s||o.expired||o.revokedAt!==null)return;o.useIsDue&&await Ff(o,n,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(Pt)}}}i(Ga,"createKeyAuthenticator");async function Ff(n,e,t){try{await e.keys.markUsed(n)}catch(r){t.warn("the use of a key could not be recorded",{keyId:n.keyId,name:q(r).name})}}i(Ff,"markUsed");function Fa(n){let{ledger:e,codec:t}=n;return{getRun:i(async(r,o)=>{if(!j(o))return;let s=await e.runs.get({tenantId:r,runId:o});if(s===null)return;let a={tenantId:r,runId:o},[d,u]=await Promise.all([e.items.ofRun(a),e.arms.openOfRun(a)]);return Uf(s,d,u,t)},"getRun"),listRuns:i(async(r,o,s)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,s);return{runs:a.map(Ua),nextCursor:d}},"listRuns"),getTimeline:i(async(r,o)=>{if(!j(o))return;let s={tenantId:r,runId:o},a=await e.runs.get(s);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(s),e.journal.read(s)]);return{runId:o,status:a.status,entries:Wf(a,d,u)}},"getTimeline")}}i(Fa,"createReads");var Ve=i(n=>n?.toISOString()??null,"iso");function Ua(n){let e=i(t=>t===null?null:{reason:t.reason,at:t.at.toISOString()},"flag");return{runId:n.runId,workflow:n.workflow,status:n.status,queue:n.queue,priority:n.priority,agent:n.agent,idempotencyKey:n.idempotencyKey,requestedBy:n.requestedBy,enqueueSeq:n.enqueueSeq,steps:n.journalLength,errorCode:n.errorCode,attention:e(n.attention),quarantine:e(n.quarantine),pausedAt:Ve(n.pausedAt),deadlineAt:Ve(n.deadlineAt),createdAt:n.createdAt.toISOString(),startsAt:Ve(n.startsAt),startedAt:Ve(n.startedAt),finishedAt:Ve(n.finishedAt)}}i(Ua,"summaryOf");async function Uf(n,e,t,r){let{tenantId:o,runId:s}=n,a=i(async(d,u)=>d===null?null:JSON.parse(await r.decode(d,{tenantId:o,runId:s,kind:u})),"read");return{...Ua(n),waits:t.map(({call:{kind:d,name:u},dueAt:l,consentId:c})=>({kind:d,name:u,dueAt:Ve(l),consentId:c})),input:await a(n.inputText,"input"),output:await a(n.outputText,"output"),error:await a(n.errorText,"error"),containment:e.map(ja)}}i(Uf,"viewOf");function Wf(n,e,t){let r=[{kind:"admitted",at:n.createdAt.toISOString()}];for(let s of e)r.push(...Hf(s));for(let s of t)r.push({kind:"step",at:s.completedAt.toISOString(),enqueueSeq:s.seq,ordinal:s.ordinal,call:s.kind,name:s.name,nth:s.nth,outcome:s.outcome,tries:s.tries,startedAt:s.startedAt.toISOString()});n.finishedAt!==null&&r.push({kind:"finished",at:n.finishedAt.toISOString(),status:n.status,errorCode:n.errorCode});let o=i(s=>Kf.indexOf(s.kind),"rank");return r.toSorted((s,a)=>s.at===a.at?o(s)-o(a):s.at<a.at?-1:1)}i(Wf,"timelineOf");var Kf=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function Hf(n){let{seq:e,cause:t,status:r,publications:o}=n,s=[{kind:"delivery",at:n.createdAt.toISOString(),enqueueSeq:e,cause:t,status:r,dueAt:n.dueAt.toISOString()}];n.publishedAt!==null&&s.push({kind:"published",at:n.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=n.claimedBy??"unknown";if(n.claimedAt!==null&&s.push({kind:"claimed",at:n.claimedAt.toISOString(),enqueueSeq:e,worker:a}),n.workerEndedAt!==null){let d=n.workerEnd??"unknown";s.push({kind:"worker_ended",at:n.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return n.settledAt!==null&&n.outcome!==null&&s.push({kind:"settled",at:n.settledAt.toISOString(),enqueueSeq:e,outcome:n.outcome}),n.fencedAt!==null&&s.push({kind:"fenced",at:n.fencedAt.toISOString(),enqueueSeq:e}),s}i(Hf,"ofDelivery");async function Wa(n,e){let{ledger:t,faults:r,log:o}=n,{found:s,next:a}=await t.items.due(n.pageSize,e);s.length>0&&await r("containment.after-select",`${s.length} runs`);let[d,u]=[0,0];for(let l of s)try{let c=await t.items.contain(l,n.settings.maxContainDeliveries);await r("containment.after-look",l.runId),c.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:l.runId,status:c.ended})):c.needsWord&&await t.runs.raiseAttention(l,"containment: something of the run waits for a word")}catch(c){u+=1,o.warn("a run's items could not be looked at",{runId:l.runId,error:String(c).slice(0,200)})}return{counts:{due:s.length,ended:d,failed:u},next:a}}i(Wa,"contain");function Bf(n){return Math.min(3600,30*2**Math.min(n,10))}i(Bf,"nextLookSeconds");async function Ka(n,e){let{ledger:t,faults:r,log:o}=n,{found:s,next:a}=await t.consents.toLookUp(n.pageSize,e);s.length>0&&await r("consents.after-select",`${s.length} due`);let d=await Promise.all(s.map(async l=>{try{return await t.consents.postponeLookUp(l,Bf(l.looks)),await Jf(l,n)}catch(c){return o.warn("a decision source could not be asked",{runId:l.runId,source:l.source,error:q(c).message.slice(0,200)}),"failed"}})),u=i(l=>d.filter(c=>c===l).length,"count");return{counts:{due:s.length,decided:u("decided"),failed:u("failed")},next:a}}i(Ka,"lookUpConsents");async function Jf(n,e){let{ledger:t,publisher:r,codec:o,faults:s,log:a,settings:d}=e,u=n.source??"",l=Object.hasOwn(e.decisionSources,u)?e.decisionSources[u]:void 0;if(l===void 0)throw new Error(`the configuration has no decision source "${u}"`);let{tenantId:c,runId:m,consentId:y,title:w,requestText:b,requestDigest:I}=n,S=JSON.parse(await o.decode(b,{tenantId:c,runId:m,kind:"consent"})),J=new AbortController,V=Wt(await Re(l.lookUp({tenantId:c,runId:m,consentId:y,title:w,digest:I,detail:S.detail},J.signal),d.ownerDeadlineMs).finally(()=>J.abort()));if(await s("consents.after-look",y),V.outcome==="pending")return"pending";let fe=V.comment??null,Et=fe===null?null:await o.encode(fe,{tenantId:c,runId:m,kind:"comment"}),Ye=await t.consents.decide({tenantId:c,consentId:y},{subject:`source:${u}/${V.by}`.slice(0,300),roles:[],verdict:V.outcome,digest:I,commentText:Et,commentDigest:Et===null?null:C(Et)},{publisherGraceSeconds:d.publisherGraceSeconds,asSource:!0});if(Ye===null)return"pending";Ye.resumption!==null&&await r.publish(Ye.resumption);let{outcome:Wr}=V;if(Ye.judgement.kind!=="counts"){let{status:od}=Ye.consent;return a.info("a decision source was late",{runId:m,source:u,outcome:Wr,status:od}),"late"}return a.info("a decision source has decided a consent",{runId:m,source:u,outcome:Wr}),"decided"}i(Jf,"lookUp");async function Ha(n,e){let{ledger:t,faults:r,log:o,settings:s}=n,{found:a,next:d}=await t.runs.overdue(n.pageSize,e);a.length>0&&await r("deadlines.after-select",`${a.length} overdue`);let[u,l]=[0,0];for(let c of a){let m={code:"deadline",name:"Deadline",message:`the run's deadline ${c.deadlineAt.toISOString()} has passed while it was ${c.status}`};try{let y=await Je(c,m,n);if(y===void 0){l+=1;continue}let w=await t.runs.failOverdue({...c,...y},s.actsMarginSeconds);if(await r("deadlines.after-failure",c.runId),w===null)continue;u+=1,o.warn("a run's deadline has passed",{runId:c.runId,status:w})}catch(y){l+=1,o.warn("an overdue run could not be ended",{runId:c.runId,error:String(y).slice(0,200)})}}return{counts:{overdue:a.length,ended:u,failed:l},next:d}}i(Ha,"endOverdue");async function Ba(n,e){let{ledger:t,faults:r,log:o}=n,{found:s,next:a}=await t.deliveries.expiredHolds(n.pageSize,e);if(s.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${s.length} expired`);let d=(await Promise.all(s.map(c=>Vf(c,n)))).flat(),u=await t.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:c,status:m}of u)o.info("a held run was not released in time",{runId:c,status:m});let l=s.length-d.length;return{counts:{expired:s.length,ended:u.length,failed:l},next:a}}i(Ba,"expireHolds");async function Vf(n,e){let t={code:"hold_expired",name:"Expired",message:`the run was held until ${n.expiredAt.toISOString()}, and nobody released it`},r=await Je(n,t,e);return r===void 0?[]:[{...n,...r}]}i(Vf,"withFailure");async function Ja(n){let{ledger:e,queue:t,faults:r,log:o}=n,s=await e.deliveries.duePublications(n.pageSize);if(s.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${s.length} due`);let{confirmed:a,failed:d}=await t.publish(s);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:l,reason:c}of d)o.warn("the relay could not publish a delivery",{runId:l.runId,reason:c});let u=new Set(a.map(l=>`${l.runId}:${l.enqueueSeq}`));for(let l of s)l.publications+1<jt||!u.has(`${l.runId}:${l.enqueueSeq}`)||await e.runs.raiseAttention(l,"unclaimed: published again and again, and claimed by no worker");return{due:s.length,published:a.length,failed:d.length}}i(Ja,"relay");async function Va(n,e){let{ledger:t,publisher:r,faults:o,log:s,settings:a}=n,{found:d,next:u}=await t.arms.due(n.pageSize,e);d.length>0&&await o("timers.after-select",`${d.length} due`);let[l,c]=[0,0];for(let{tenantId:m,runId:y,armId:w,lateSeconds:b}of d)try{let I=await t.runs.resumeDue({tenantId:m,runId:y},a.publisherGraceSeconds);if(await o("timers.after-resume",y),I===null)continue;l+=1,s.info("a run was brought back by its timer",{runId:y,armId:w,lateSeconds:Math.round(b)}),await r.publish(I)}catch(I){c+=1,s.warn("a run could not be brought back",{runId:y,error:String(I).slice(0,200)})}return{counts:{due:d.length,resumed:l,failed:c},next:u}}i(Va,"wakeDue");async function Ie(n,e,t,r){let o=e.remainingMs()/2,s={...t},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,s.failed>0?o:0);){let{counts:u,next:l}=await r(d);if(a+=1,s=Yf(s,u),l===void 0)break;d=l}return{...s,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:n,error:String(u).slice(0,300)}),{...s,pages:a,error:u instanceof Error?u.name:"error"}}}i(Ie,"pass");function Yf(n,e){let t=Object.keys(n);return Object.fromEntries(t.map(r=>[r,n[r]+e[r]]))}i(Yf,"sum");async function bt(n){return{reanimation:await Ie("reanimation",n,{lapsed:0,resumed:0,failing:0,failed:0},e=>wt(n,{after:e})),holds:await Ie("holds",n,{expired:0,ended:0,failed:0},e=>Ba(n,e)),deadlines:await Ie("deadlines",n,{overdue:0,ended:0,failed:0},e=>Ha(n,e)),timers:await Ie("timers",n,{due:0,resumed:0,failed:0},e=>Va(n,e)),consents:await Ie("consents",n,{due:0,decided:0,failed:0},e=>Ka(n,e)),containment:await Ie("containment",n,{due:0,ended:0,failed:0},e=>Wa(n,e)),relay:await Ie("relay",n,{due:0,published:0,failed:0},async()=>{let e=await Ja(n);return{counts:e,next:e.published>0&&e.due>=n.pageSize?!0:void 0}})}}i(bt,"reconcile");var Qf=3e4;function Ya(n){let{hint:e,clock:t,log:r,patienceMs:o=1e3}=n,s,a,d=i(()=>{if(s===void 0)return!1;let l=t.wallMs()-s.wallMs;return l>=0&&Math.max(l,t.monotonicMs()-s.monotonicMs)<Qf},"remembered"),u=i(async()=>{let l={monotonicMs:t.monotonicMs(),wallMs:t.wallMs()};try{await Re(e.lower(l.wallMs,l.wallMs),o),s=l}catch(c){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(c).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}i(Ya,"createLowering");function Qa(n,e){return n===void 0||n.dueAtMs<=e||Za(n,e)?{connect:!0}:n.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:n.dueAtMs}}i(Qa,"wakeOf");function Xa(n,e,t){if(n!==void 0&&Za(n,e))return;let r=t.atMs+36e5;if(t.dueInSeconds===null)return r;if(!(t.dueInSeconds<=120))return Math.min(r,t.atMs+Math.floor(t.dueInSeconds*1e3))}i(Xa,"raisedTo");function Za({openedAtMs:n},e){return n!==void 0&&e-n<12e4}i(Za,"mayBeCommitting");async function ed(n){let{clock:e,hint:t,log:r,hintPatienceMs:o=1500}=n,s=e.wallMs(),a;try{a={state:await Re(t.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:String(l).slice(0,200)})}let d=Qa(a?.state,s);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await bt(n);return t.keeps&&a!==void 0&&Zf(u)&&await Xf(n,a.state,s),u}i(ed,"reconcileWhenDue");async function Xf({ledger:n,hint:e,clock:t,log:r,hintPatienceMs:o=1500},s,a){try{let d=t.wallMs(),u=Xa(s,a,{atMs:d,dueInSeconds:await n.nextLook()});if(u===void 0)return;await Re(e.raise(s?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}i(Xf,"raise");function Zf(n){return Object.values(n).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}i(Zf,"isWhole");var ep=2e3;function td({ledger:n,codec:e,ids:t,publisher:r,faults:o}){return{send:i(async(s,a,d)=>{if(!j(a))throw nd();let{tenantId:u,subject:l}=s,{name:c,payloadText:m,idempotencyKey:y}=d,w=m===void 0?null:await e.encode(m,{tenantId:u,runId:a,kind:"signal"}),b=await n.signals.keep({tenantId:u,runId:a,signalId:t.next(),name:c,idempotencyKey:y??null,requestDigest:await wn(e,`${JSON.stringify(c)} ${m??""}`),payloadText:w,payloadDigest:w===null?null:C(w),sentBy:l},{publisherGraceSeconds:15});if(b===null)throw nd();switch(await o("signals.after-commit",a),b.kind){case"kept":return b.resumption!==null&&await oe(r.publish(b.resumption),ep),{runId:a,signalId:b.signalId,repeated:b.repeated,resumed:b.resumption!==null};case"conflict":throw new h("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new h("too_many_signals",`${_n} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new h("run_ended",`the run is ${b.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}i(td,"createSignals");function nd(){return new h("not_found","there is no such run",{fix:"Check the run id."})}i(nd,"absent");export{Eo as core,rd as engine,Ps as ledger};
