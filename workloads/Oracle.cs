// Prints what TraceEvent reads in a .nettrace file, as lines of fields separated by tabs:
//
//   PROVIDER  EVENT  COUNT  ID                           for every kind of event, sorted
//   method    START  SIZE  NAMESPACE  NAME  SIGNATURE    for every verbose method load, start or end of a rundown
//   map       METHOD  VERSION  NATIVE:IL ...             for every map from native code to IL
//   error     MESSAGE                                    where TraceEvent gave up; what it had read until then is printed
//   lost      COUNT
//
// START, METHOD, NATIVE and IL are hexadecimal; an event without a name is shown as TraceEvent shows it, `EventID(ID)`.

using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

static class Oracle
{
    sealed class Kind : IComparable<Kind>
    {
        public readonly string Provider;
        public readonly string Event;
        public readonly int Id;

        public Kind(string provider, string name, int id)
        {
            Provider = provider;
            Event = name;
            Id = id;
        }

        public int CompareTo(Kind other)
        {
            int order = string.CompareOrdinal(Provider, other.Provider);
            if (order == 0)
            {
                order = Id.CompareTo(other.Id);
            }
            return order != 0 ? order : string.CompareOrdinal(Event, other.Event);
        }
    }

    static readonly SortedDictionary<Kind, long> Counts = new SortedDictionary<Kind, long>();
    static readonly StringBuilder Methods = new StringBuilder();

    static int Main(string[] args)
    {
        if (args.Length != 1)
        {
            Console.Error.WriteLine("usage: Oracle FILE.nettrace");
            return 64;
        }
        using (var source = new EventPipeEventSource(args[0]))
        {
            source.AllEvents += Count;
            source.Clr.MethodLoadVerbose += Show;
            var rundown = new ClrRundownTraceEventParser(source);
            source.Clr.MethodILToNativeMap += ShowMap;
            rundown.MethodILToNativeMapDCStop += ShowMap;
            rundown.MethodDCStopVerbose += Show;
            rundown.MethodDCStartVerbose += Show;
            // TraceEvent names only what some parser was asked for.
            source.Clr.All += Ignore;
            rundown.All += Ignore;
            source.Dynamic.All += Ignore;
            new SampleProfilerTraceEventParser(source).All += Ignore;
            string error = null;
            try
            {
                source.Process();
            }
            catch (Exception exception)
            {
                error = exception.GetType().Name + ": " + exception.Message.Replace('\n', ' ').Replace('\t', ' ');
            }
            var output = new StringBuilder();
            foreach (KeyValuePair<Kind, long> count in Counts)
            {
                Kind kind = count.Key;
                output.Append(kind.Provider).Append('\t').Append(kind.Event).Append('\t').Append(count.Value)
                    .Append('\t').Append(kind.Id).Append('\n');
            }
            output.Append(Methods.ToString());
            if (error != null)
            {
                output.Append("error\t").Append(error).Append('\n');
            }
            output.Append("lost\t").Append(source.EventsLost).Append('\n');
            using (Stream stream = Console.OpenStandardOutput())
            {
                byte[] bytes = Encoding.UTF8.GetBytes(output.ToString());
                stream.Write(bytes, 0, bytes.Length);
            }
        }
        return 0;
    }

    static void Count(TraceEvent data)
    {
        var kind = new Kind(data.ProviderName, data.EventName, (int)data.ID);
        long count;
        Counts.TryGetValue(kind, out count);
        Counts[kind] = count + 1;
    }

    static void Ignore(TraceEvent data)
    {
    }

    static void Show(MethodLoadUnloadVerboseTraceData data)
    {
        Methods.Append("method\t").Append(data.MethodStartAddress.ToString("x")).Append('\t').Append(data.MethodSize)
            .Append('\t').Append(data.MethodNamespace).Append('\t').Append(data.MethodName)
            .Append('\t').Append(data.MethodSignature).Append('\n');
    }

    static void ShowMap(MethodILToNativeMapTraceData data)
    {
        Methods.Append("map\t").Append(data.MethodID.ToString("x")).Append('\t').Append(data.ReJITID).Append('\t');
        for (int i = 0; i < data.CountOfMapEntries; i++)
        {
            Methods.Append(i == 0 ? "" : " ").Append(data.NativeOffset(i).ToString("x")).Append(':')
                .Append(data.ILOffset(i).ToString("x"));
        }
        Methods.Append('\n');
    }
}
