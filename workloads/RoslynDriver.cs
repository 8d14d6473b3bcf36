// Compiles one C# file with Roslyn, which writes Portable PDBs and knows today's language:
//
//   RoslynDriver COMPILER SOURCE OUTPUT.dll beside|embedded FRAMEWORK
//
// COMPILER is the folder with Roslyn's assemblies, FRAMEWORK the one whose assemblies are referenced; the PDB goes beside
// the output or into it. The PDB calls the source /_/NAME.cs, and its Source Link says where to read /_/*.
//
// Roslyn is called by reflection: the compiler of this file gives up on assemblies that are written in a newer language.

using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Text;

internal static class RoslynDriver
{
    const string SourceLink = "{\"documents\":{\"/_/*\":\"https://example.org/strata/workloads/*\"}}";
    const string Names = "Microsoft.CodeAnalysis.";

    static Assembly common;
    static Assembly csharp;

    static int Main(string[] args)
    {
        common = Assembly.LoadFrom(Path.Combine(args[0], "Microsoft.CodeAnalysis.dll"));
        csharp = Assembly.LoadFrom(Path.Combine(args[0], "Microsoft.CodeAnalysis.CSharp.dll"));
        string source = args[1], output = args[2], framework = args[4];
        string pdb = args[3] == "beside" ? Path.ChangeExtension(output, "pdb") : null;
        object compilation = Compilation(source, Path.GetFileNameWithoutExtension(output), framework);
        object format = Named(common, "Emit.DebugInformationFormat", pdb == null ? "Embedded" : "PortablePdb");
        object options = New(Type(common, "Emit.EmitOptions"), false, format);
        options = Call(options, "WithPdbFilePath", "/_/" + Path.GetFileName(Path.ChangeExtension(output, "pdb")));
        object result;
        using (Stream image = File.Create(output))
        using (Stream symbols = pdb == null ? null : File.Create(pdb))
        using (Stream link = new MemoryStream(Encoding.UTF8.GetBytes(SourceLink)))
        {
            result = Call(compilation, "Emit", image, symbols, null, null, null, options, null, link);
        }
        bool success = (bool)Get(result, "Success");
        foreach (object diagnostic in (System.Collections.IEnumerable)Get(result, "Diagnostics"))
        {
            Console.Error.WriteLine(diagnostic);
        }
        return success ? 0 : 1;
    }

    static object Compilation(string source, string name, string framework)
    {
        object text = CallStatic(Type(common, "Text.SourceText"), "From", File.ReadAllText(source), Encoding.UTF8);
        Type treeType = Type(common, "SyntaxTree");
        object tree = CallStatic(
            Type(csharp, "CSharp.CSharpSyntaxTree"), "ParseText", text, null, "/_/" + Path.GetFileName(source));
        Array trees = Array.CreateInstance(treeType, 1);
        trees.SetValue(tree, 0);
        Type referenceType = Type(common, "MetadataReference");
        string[] paths = Directory.GetFiles(framework, "System.*.dll");
        Array references = Array.CreateInstance(referenceType, paths.Length);
        for (int i = 0; i < paths.Length; i++)
        {
            references.SetValue(CallStatic(referenceType, "CreateFromFile", paths[i]), i);
        }
        object options = New(
            Type(csharp, "CSharp.CSharpCompilationOptions"), Named(common, "OutputKind", "ConsoleApplication"));
        options = Call(options, "WithOptimizationLevel", Named(common, "OptimizationLevel", "Release"));
        options = Call(options, "WithAllowUnsafe", true);
        options = Call(options, "WithDeterministic", true);
        return CallStatic(Type(csharp, "CSharp.CSharpCompilation"), "Create", name, trees, references, options);
    }

    static Type Type(Assembly assembly, string name)
    {
        return assembly.GetType(Names + name, true);
    }

    static object Named(Assembly assembly, string type, string value)
    {
        return Enum.Parse(Type(assembly, type), value);
    }

    static object Get(object target, string property)
    {
        return target.GetType().GetProperty(property).GetValue(target);
    }

    static object Call(object target, string name, params object[] given)
    {
        return Invoke(Array.FindAll(target.GetType().GetMethods(), method => method.Name == name), target, given);
    }

    static object CallStatic(Type type, string name, params object[] given)
    {
        MethodInfo[] methods = type.GetMethods(BindingFlags.Public | BindingFlags.Static);
        return Invoke(Array.FindAll(methods, method => method.Name == name), null, given);
    }

    static object New(Type type, params object[] given)
    {
        return Invoke(type.GetConstructors(), null, given);
    }

    // The shortest of several overloads that takes what is given; the rest of its parameters must be optional.
    static object Invoke(MethodBase[] overloads, object target, object[] given)
    {
        MethodBase chosen = null;
        foreach (MethodBase overload in overloads)
        {
            bool isShorter = chosen == null || overload.GetParameters().Length < chosen.GetParameters().Length;
            if (isShorter && Takes(overload.GetParameters(), given))
            {
                chosen = overload;
            }
        }
        var all = new List<object>(given);
        foreach (ParameterInfo parameter in chosen.GetParameters())
        {
            if (parameter.Position >= given.Length)
            {
                all.Add(parameter.DefaultValue);
            }
        }
        var constructor = chosen as ConstructorInfo;
        return constructor != null ? constructor.Invoke(all.ToArray()) : chosen.Invoke(target, all.ToArray());
    }

    static bool Takes(ParameterInfo[] parameters, object[] given)
    {
        for (int i = 0; i < parameters.Length; i++)
        {
            Type type = parameters[i].ParameterType;
            bool fits = i < given.Length
                ? (given[i] == null ? !type.IsValueType : type.IsInstanceOfType(given[i]))
                : parameters[i].IsOptional;
            if (!fits)
            {
                return false;
            }
        }
        return given.Length <= parameters.Length;
    }
}
